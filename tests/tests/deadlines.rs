//! Deadlines of texts, on one server that is killed, and on two.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Fleet, Server, Socket, until};
use reqwest::Method;
use serde_json::{Value, json};

/// Gives the texts of a room a deadline of some seconds.
async fn set_default(by: &Api, room: &str, seconds: u32) {
    let body = json!({"chat": {"respond_within": seconds}});
    let changed = by.call(Method::PATCH, &format!("/chats/{room}"), Some(body)).await;
    assert_eq!((changed.status, &changed.data()["respond_within"]), (200, &json!(seconds)));
}

/// Sends a text; its id and its deadline.
async fn ask(by: &Api, room: &str, agent: &Api, respond_by: Option<&str>) -> (String, String) {
    let body = json!({"message": {
        "content": "well?", "mentions": [{"id": agent.id}], "respond_by": respond_by,
    }});
    let sent = by.post(&format!("/chats/{room}/messages"), body).await.data();
    (sent["id"].as_str().unwrap().to_owned(), sent["respond_by"].as_str().unwrap().to_owned())
}

/// The events of a room, and the texts that they are about.
async fn missed(by: &Api, room: &str) -> Vec<String> {
    let events = by.history(room).await.into_iter().filter(|message| message["message_type"] == "attention");
    let about = events.map(|event| event["metadata"]["message_id"].as_str().unwrap().to_owned());
    let mut about = about.collect::<Vec<_>>();
    about.sort_unstable();
    about
}

/// What is due while no server runs is announced by the next one, and by none after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_that_passes_while_the_server_is_down_is_announced_once() {
    let mut server = Server::start_alone(&[]).await;
    let cast = Cast::on(&server).await;
    set_default(&cast.u1, &cast.r1, 1).await;
    let (first, _) = ask(&cast.u1, &cast.r1, &cast.a1, None).await;
    server.kill9();
    server.run().await;
    until("the first is announced", async || missed(&cast.u1, &cast.r1).await == [&*first]).await;
    server.kill9();
    server.run().await;
    let (second, _) = ask(&cast.u1, &cast.r1, &cast.a1, None).await;
    until("the second is announced", async || missed(&cast.u1, &cast.r1).await.contains(&second)).await;
    assert_eq!(missed(&cast.u1, &cast.r1).await, [first, second]);
}

/// Both servers look for what is due, one announces it, and the socket at either hears of it once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_servers_announces_a_missed_deadline() {
    let fleet = Fleet::with_nats(2, &[]).await;
    fleet.acquainted().await;
    let [here, there] = &fleet.servers[..] else { panic!("two") };
    let cast = Cast::on(here).await;
    let topic = format!("chat_room:{}", cast.r1);
    let mut sockets = [Socket::of(here, &cast.u1).await, Socket::of(there, &cast.u1).await];
    for socket in &mut sockets {
        socket.join("1", &topic).await;
    }
    set_default(&cast.u1, &cast.r1, 8).await;
    let (by_default, respond_by) = ask(&cast.u1, &cast.r1, &cast.a1, None).await;
    let (own, same) = ask(&cast.u1.on(there), &cast.r1, &cast.a2, Some(&respond_by)).await;
    assert_eq!(same, respond_by);
    let (met, _) = ask(&cast.u1, &cast.r1, &cast.a2, None).await;
    for step in ["processing", "processed"] {
        assert_eq!(cast.a2.step(&cast.r1, &met, step).await.status, 200);
    }
    for socket in &mut sockets {
        let mut about = Vec::new();
        while about.len() < 2 {
            let frame = socket.frame().await;
            if frame[3] == "event_created" {
                assert_eq!(frame[4]["message_type"], "attention");
                assert_eq!(frame[4]["metadata"]["respond_by"], respond_by);
                about.push(frame[4]["metadata"]["message_id"].clone());
            }
        }
        about.sort_unstable_by_key(Value::to_string);
        assert_eq!(about, [json!(by_default), json!(own)]);
    }
    let counted = async || {
        let series = "parlance_overdue_texts_total";
        fleet.figure(0, series).await + fleet.figure(1, series).await
    };
    until("each is counted once", async || counted().await > 1.9).await;
    // A third text has its turn after all others.
    let (last, _) = ask(&cast.u1, &cast.r1, &cast.a1, None).await;
    until("the last is announced", async || missed(&cast.u1, &cast.r1).await.contains(&last)).await;
    assert_eq!(missed(&cast.u1, &cast.r1).await, [by_default, own, last]);
    until("it is counted", async || counted().await > 2.9).await;
    assert!(counted().await < 3.1);
}
