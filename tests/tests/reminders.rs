//! Texts that are sent later: over REST, by two servers, and by servers that are killed.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::time::Duration;

use e2e::cast::Cast;
use e2e::{Api, Fleet, Server, Socket, elapse, until};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

/// The time this many seconds ahead, by the clock of the server: the deadline of a text that is sent now. The room gets
/// an event at that time.
async fn ahead(by: &Api, room: &str, agent: &Api, seconds: u32) -> String {
    let body = json!({"chat": {"respond_within": seconds}});
    assert_eq!(by.call(Method::PATCH, &format!("/chats/{room}"), Some(body)).await.status, 200);
    let sent = by.send(room, "when?", &[&agent.id]).await.data();
    let clear = json!({"chat": {"respond_within": null}});
    assert_eq!(by.call(Method::PATCH, &format!("/chats/{room}"), Some(clear)).await.status, 200);
    sent["respond_by"].as_str().unwrap().to_owned()
}

/// Schedules a text; the reminder.
async fn schedule(by: &Api, room: &str, to: &str, text: &str, at: &str, every: Option<&str>) -> Value {
    let body = json!({"message": {
        "content": text, "mentions": [{"id": to}], "deliver_at": at, "every": every,
    }});
    let answer = by.post(&format!("/chats/{room}/messages"), body).await;
    assert_eq!(answer.status, 202, "{:?}", answer.body);
    answer.data()
}

/// The number of texts in a room that say this.
async fn count(by: &Api, room: &str, text: &str) -> usize {
    by.history(room).await.iter().filter(|row| row["content"].as_str().unwrap().ends_with(text)).count()
}

async fn show(by: &Api, reminder: &Value) -> Value {
    by.get(&format!("/reminders/{}", reminder["id"].as_str().unwrap())).await.data()
}

/// Its socket and `/next` have the text that an agent has sent to itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_reminds_itself() {
    let server = Server::start_alone(&[]).await;
    let cast = Cast::on(&server).await;
    let (bot, room) = (&cast.a1, &cast.r1);
    let at = ahead(&cast.u2, &cast.r2, &cast.a3, 8).await;
    let mut socket = Socket::of(&server, bot).await;
    let topic = format!("chat_room:{room}");
    socket.join("1", &topic).await;
    let now = bot.send(room, "now", &[&bot.id]).await;
    assert_eq!((now.status, now.code()), (422, "cannot_mention_self"));
    let reminder = schedule(bot, room, &bot.id, "look again", &at, None).await;
    assert_eq!((&reminder["state"], &reminder["deliver_at"]), (&json!("scheduled"), &json!(at)));
    let listed = bot.get("/reminders").await.data();
    assert_eq!(listed, json!([reminder]));
    let pushed = socket.event("1", &topic, "message_created").await;
    assert!(pushed["content"].as_str().unwrap().ends_with("look again"), "{pushed}");
    let id = pushed["id"].as_str().unwrap();
    assert_eq!(bot.next(room).await.as_deref(), Some(id));
    for step in ["processing", "processed"] {
        assert_eq!(bot.step(room, id, step).await.status, 200);
    }
    assert_eq!(bot.next(room).await, None);
    let done = show(&cast.u1, &reminder).await;
    assert_eq!(
        (&done["state"], &done["end"]["code"], &done["deliver_at"]),
        (&json!("ended"), &json!("finished"), &Value::Null)
    );
    assert_eq!((&done["sent_count"], &done["last_message_id"]), (&json!(1), &json!(id)));
    assert_eq!(bot.get("/reminders").await.data(), json!([]));
    let over = cast.u1.delete(&format!("/reminders/{}", reminder["id"].as_str().unwrap())).await;
    assert_eq!((over.status, over.code()), (409, "conflict"));
}

/// What cannot be scheduled is named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_times_are_named() {
    let server = Server::start_with(&[]).await;
    let cast = Cast::on(&server).await;
    let (by, room) = (&cast.u1, &cast.r1);
    let at = ahead(by, room, &cast.a1, 3600).await;
    let path = format!("/chats/{room}/messages");
    for (members, place) in [
        (json!({"deliver_at": "tomorrow"}), "deliver_at"),
        (json!({"deliver_at": "2020-01-01T00:00:00Z"}), "deliver_at"),
        (json!({"deliver_at": "9000-01-01T00:00:00Z"}), "deliver_at"),
        (json!({"every": "FREQ=DAILY"}), "deliver_at"),
        (json!({"deliver_at": at, "every": "FREQ=SECONDLY"}), "every"),
        (json!({"deliver_at": at, "every": "FREQ=DAILY;UNTIL=20200101T000000Z"}), "every"),
        (json!({"deliver_at": at, "respond_by": at}), "respond_by"),
        (json!({"deliver_at": at, "content": "x".repeat(65_537)}), "content"),
    ] {
        let mut body = json!({"content": "x", "mentions": []});
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let wrapped = by.post(&path, json!({"message": body})).await;
        assert_eq!((wrapped.status, wrapped.code()), (422, "validation_error"), "{members}");
        assert!(wrapped.body["error"]["details"].get(format!("/message/{place}")).is_some(), "{wrapped:?}");
        let flat = by.post(&path, body).await;
        assert!(flat.body["error"]["details"].get(format!("/{place}")).is_some(), "{flat:?}");
    }
    assert_eq!(by.get("/reminders?state=all").await.data(), json!([]));
}

/// A reminder that is due while no server runs is sent by the next one, and a cancelled one by none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_due_while_the_server_is_down_is_sent_once() {
    let mut server = Server::start_alone(&[]).await;
    let cast = Cast::on(&server).await;
    let (by, room) = (&cast.u1, &cast.r1);
    let at = ahead(by, room, &cast.a1, 8).await;
    let first = schedule(by, room, &cast.a1.id, "first", &at, None).await;
    let daily = schedule(by, room, &cast.a1.id, "daily", &at, Some("FREQ=DAILY")).await;
    let cancelled = schedule(by, room, &cast.a1.id, "cancelled", &at, None).await;
    let path = format!("/reminders/{}", cancelled["id"].as_str().unwrap());
    assert_eq!(by.delete(&path).await.data()["end"]["code"], "cancelled");
    server.kill9();
    elapse(Duration::from_secs(8)).await;
    server.run().await;
    until("the first is not sent", async || show(by, &first).await["state"] == "ended").await;
    until("the daily one is not sent", async || show(by, &daily).await["sent_count"] == 1).await;
    server.kill9();
    server.run().await;
    let at = ahead(by, room, &cast.a1, 8).await;
    let last = schedule(by, room, &cast.a1.id, "last", &at, None).await;
    until("the last is not sent", async || show(by, &last).await["state"] == "ended").await;
    for (text, number) in [("first", 1), ("daily", 1), ("last", 1), ("cancelled", 0)] {
        assert_eq!(count(by, room, text).await, number, "{text}");
    }
}

/// Three servers look for what is due, and are killed in turn from before it is due until all is sent: each reminder is
/// sent once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_are_killed_send_each_reminder_once() {
    let mut fleet = Fleet::with_nats(3, &[]).await;
    let cast = Cast::on(&fleet.servers[0]).await;
    let (by, room) = (&cast.u1, &cast.r1);
    let texts = (0..60).map(|number| format!("reminder {number}.")).collect::<Vec<_>>();
    let at = ahead(by, room, &cast.a1, 20).await;
    let reminders = join_all(texts.iter().map(|text| schedule(by, room, &cast.a1.id, text, &at, None))).await;
    let (mut kills, since) = (0, Instant::now());
    while count(&by.on(&fleet.servers[kills % 3]), room, ".").await < texts.len() {
        assert!(since.elapsed() < Duration::from_secs(120), "not all are sent");
        fleet.servers[kills % 3].kill9();
        fleet.servers[kills % 3].run().await;
        kills += 1;
    }
    assert!(kills > 0, "all were sent before the first kill");
    for (text, reminder) in texts.iter().zip(&reminders) {
        let shown = show(by, reminder).await;
        assert_eq!((&shown["end"]["code"], &shown["sent_count"]), (&json!("finished"), &json!(1)), "{shown}");
        assert_eq!(count(by, room, text).await, 1, "{text}");
    }
}

/// A text that one server sends reaches the sockets of another, and is counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_servers_sends_a_reminder() {
    let fleet = Fleet::with_nats(2, &[]).await;
    fleet.acquainted().await;
    let [here, there] = &fleet.servers[..] else { panic!("two") };
    let cast = Cast::on(here).await;
    let topic = format!("chat_room:{}", cast.r1);
    let mut sockets = [Socket::of(here, &cast.u1).await, Socket::of(there, &cast.u1).await];
    let at = ahead(&cast.u2, &cast.r2, &cast.a3, 8).await;
    for socket in &mut sockets {
        socket.join("1", &topic).await;
    }
    schedule(&cast.u1, &cast.r1, &cast.a1.id, "both", &at, None).await;
    for socket in &mut sockets {
        let pushed = socket.event("1", &topic, "message_created").await;
        assert!(pushed["content"].as_str().unwrap().ends_with("both"), "{pushed}");
    }
    let series = "parlance_reminders_total{result=\"sent\"}";
    let counted = async || fleet.figure(0, series).await + fleet.figure(1, series).await;
    until("it is counted", async || counted().await > 0.9).await;
    assert!(counted().await < 1.1);
    assert_eq!(count(&cast.u1, &cast.r1, "both").await, 1);
}

/// Runs `parlance reminder …`; what it prints as JSON.
fn command(server: &Server, arguments: &[&str]) -> Result<Value, String> {
    let output = server.command().arg("reminder").args(arguments).arg("--json").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        return Err(text(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_lists_and_cancels_reminders() {
    let server = Server::start_alone(&[]).await;
    let cast = Cast::on(&server).await;
    let at = ahead(&cast.u1, &cast.r1, &cast.a1, 3600).await;
    let reminder = schedule(&cast.a1, &cast.r1, &cast.a1.id, "look", &at, Some("FREQ=DAILY")).await;
    let id = reminder["id"].as_str().unwrap();
    assert_eq!(command(&server, &["list", "ann"]).unwrap()["reminders"], json!([reminder]));
    assert_eq!(command(&server, &["list", "ben"]).unwrap()["reminders"], json!([]));
    let refused = command(&server, &["cancel", "ben", id]).unwrap_err();
    assert!(refused.contains("no such reminder"), "{refused}");
    let cancelled = command(&server, &["cancel", "ann", id]).unwrap();
    assert_eq!(cancelled["reminder"]["end"]["code"], "cancelled");
    assert_eq!(cancelled["reminder"]["cancelled_by"], cast.u1.id);
    assert_eq!(cast.a1.get("/reminders").await.data(), json!([]));
    let ended = command(&server, &["list", "ann", "--state", "ended"]).unwrap();
    assert_eq!(ended["reminders"].as_array().unwrap().len(), 1);
}
