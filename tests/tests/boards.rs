//! The boards of rooms, on one server and on two: who hears of changes, and in which order.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use std::time::Duration;

use e2e::cast::Cast;
use e2e::{Answer, Api, Fleet, Server, Socket, elapse, until};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

/// What the announcements of counts take at most; they are at least a second apart.
const ANNOUNCED: Duration = Duration::from_millis(2500);

async fn create(by: &Api, room: &str, body: Value) -> Value {
    by.post(&format!("/chats/{room}/tasks"), body).await.data()
}

async fn change(by: &Api, room: &str, task: &Value, body: Value) -> Answer {
    by.post(&format!("/chats/{room}/tasks/{task}"), body).await
}

async fn set_goal(by: &Api, room: &str, body: Value) -> Value {
    by.call(Method::PUT, &format!("/chats/{room}/board"), Some(body)).await.data()
}

fn board_of(room: &str) -> String {
    format!("room_tasks:{room}")
}

/// Somebody who has joined the board of the first room, and other topics that have to be silent.
struct Listener {
    socket: Socket,
    topic: String,
}

impl Listener {
    async fn of(at: &Server, who: &Api, cast: &Cast) -> Self {
        let mut socket = Socket::of(at, who).await;
        socket.join("1", &board_of(&cast.r1)).await;
        Self { socket, topic: board_of(&cast.r1) }
    }

    async fn hears(&mut self, event: &str) -> Value {
        let payload = self.socket.event("1", &self.topic, event).await;
        assert_eq!(payload.get("history"), None, "{payload}");
        payload
    }
}

async fn all_hear(listeners: &mut [Listener], event: &str, expected: &Value) {
    for listener in listeners {
        assert_eq!(&listener.hears(event).await, expected);
    }
}

/// A human of the first user's organization who owns an agent in the first room, and is not in it.
async fn observer(at: &Server, cast: &Cast) -> Api {
    let cai = at.colleague("cai", "ann");
    let agent = cai.register(at, "Shared").await;
    let shared = json!({"agent": {"shared_with_organization": true}});
    let path = format!("/agents/{}", agent.id);
    assert_eq!(cai.call(Method::PATCH, &path, Some(shared)).await.status, 200);
    assert_eq!(cast.u1.add(&cast.r1, &agent.id).await.status, 201);
    cai
}

/// The statuses of all operations on a board and its first task: first those that read, then those that write.
async fn statuses(by: &Api, room: &str) -> ([u16; 4], [u16; 3]) {
    let (mut reads, mut writes) = ([0; 4], [0; 3]);
    for (status, path) in reads.iter_mut().zip(["board", "tasks", "tasks/1", "tasks/1/history"]) {
        *status = by.get(&format!("/chats/{room}/{path}")).await.status;
    }
    let calls = [
        (Method::PUT, "board", json!({"goal_title": "Another"})),
        (Method::POST, "tasks", json!({"subject": "Another"})),
        (Method::POST, "tasks/1", json!({"comment": "Another"})),
    ];
    for (status, (method, path, body)) in writes.iter_mut().zip(calls) {
        let answer = by.call(method, &format!("/chats/{room}/{path}"), Some(body)).await;
        assert!(answer.status < 300 || answer.code() == "not_found", "{answer:?}");
        *status = answer.status;
    }
    (reads, writes)
}

/// Writes on one server, and listens on the other.
async fn everybody_in_the_room_hears_of_its_board(here: &Server, there: &Server) {
    let cast = Cast::on(here).await;
    let cai = observer(here, &cast).await;
    let (a1, u1, r1) = (cast.a1.on(here), cast.u1.on(here), cast.r1.as_str());
    let mut listeners = Vec::new();
    for who in [&cast.a1, &cast.a2, &cast.u1, &cai] {
        listeners.push(Listener::of(there, who, &cast).await);
    }
    let mut elsewhere = Socket::of(there, &cast.u2).await;
    elsewhere.join("1", &board_of(&cast.r2)).await;
    for stranger in [&cast.a3, &cast.u2] {
        let mut socket = Socket::of(there, stranger).await;
        for room in [r1, "0190c5a4-0000-7000-8000-00000000000a", "x"] {
            socket.refused("2", &board_of(room), "unauthorized").await;
        }
    }
    let (first, own) = (&mut listeners[0].socket, format!("agent_rooms:{}", cast.a1.id));
    first.join("2", &format!("chat_room:{r1}")).await;
    first.join("3", &own).await;
    listeners[2].socket.join("2", &format!("tasks:{}", cast.u1.id)).await;

    let task = create(&a1, r1, json!({"subject": "Write the notes", "detail": "Since 1.4"})).await;
    assert_eq!(statuses(&cai.on(here), r1).await, ([200; 4], [404; 3]), "an observer");
    all_hear(&mut listeners, "task_created", &task).await;
    let number = &task["number"];
    for body in [
        json!({"status": "in_progress", "active_form": "Reading"}),
        json!({"comment": "Done soon."}),
        json!({"subject": "Write all notes"}),
        json!({"status": "completed", "state": "archived"}),
        json!({"state": "active"}),
    ] {
        let changed = change(&a1, r1, number, body).await.data();
        all_hear(&mut listeners, "task_updated", &changed).await;
    }
    // What changes nothing, and what is refused, is silent: the next event is that of the next change.
    assert_eq!(change(&a1, r1, number, json!({"status": "completed"})).await.status, 200);
    assert_eq!(change(&a1, r1, number, json!({"state": "superseded"})).await.status, 422);
    let second = create(&u1, r1, json!({"subject": "Better", "supersedes_id": number.to_string()})).await;
    for listener in &mut listeners {
        let old = listener.hears("task_updated").await;
        assert_eq!((&old["state"], &old["superseded_by_id"]), (&json!("superseded"), &second["id"]));
        assert_eq!(listener.hears("task_created").await, second);
    }
    let goal = json!({"goal_title": "Ship it"});
    let board = set_goal(&u1, r1, goal.clone()).await;
    set_goal(&a1, r1, goal).await;
    all_hear(&mut listeners, "board_updated", &board).await;

    let joined = change(&cast.a2.on(here), r1, &second["number"], json!({"status": "blocked"})).await.data();
    all_hear(&mut listeners, "task_updated", &joined).await;
    let path = format!("/chats/{r1}/participants/{}", cast.a2.id);
    assert!((200..300).contains(&u1.delete(&path).await.status));
    assert_eq!(statuses(&cast.a2.on(here), r1).await, ([404; 4], [404; 3]), "it was removed");
    let mut removed = listeners.remove(1);
    let left = u1.get(&format!("/chats/{r1}/tasks/{}", second["number"])).await.data();
    assert_eq!((&left["assignments"], &left["overall_status"]), (&json!([]), &json!("pending")));
    all_hear(&mut listeners, "task_updated", &left).await;
    // On another server, the last change may still come first; nothing comes after the end.
    until("the board is not closed", async || removed.socket.frame().await[3] == "phx_close").await;
    let third = create(&u1, r1, json!({"subject": "Third"})).await;
    all_hear(&mut listeners, "task_created", &third).await;
    for silent in [&mut removed.socket, &mut elsewhere] {
        silent.silent().await;
    }

    assert!((200..300).contains(&u1.delete(&format!("/chats/{r1}")).await.status));
    for listener in &mut listeners {
        // An agent that is in the room also hears that it is removed.
        until("the board is not closed", async || {
            let frame = listener.socket.frame().await;
            frame[2] == listener.topic.as_str() && frame[3] == "phx_close"
        })
        .await;
    }
    for by in [&cast.u1, &cast.a1, &cai] {
        assert_eq!(statuses(by, r1).await, ([404; 4], [404; 3]));
    }
}

/// Twenty writers on one server: every listener, on either, hears the changes in the order in which they are recorded.
async fn changes_are_heard_in_their_order(here: &Server, there: &Server) {
    let cast = Cast::on(here).await;
    let (writers, r1) = ([cast.a1.on(here), cast.a2.on(here), cast.u1.on(here)], cast.r1.as_str());
    let number = &create(&writers[0], r1, json!({"subject": "0"})).await["number"];
    let mut listeners = Vec::new();
    for (at, who) in [(here, &cast.u1), (there, &cast.u1), (there, &cast.a1)] {
        listeners.push(Listener::of(at, who, &cast).await);
    }
    let writing = (1..=20).map(|turn: usize| {
        let by = &writers[turn % writers.len()];
        change(by, r1, number, json!({"subject": turn.to_string()}))
    });
    for changed in join_all(writing).await {
        assert_eq!(changed.status, 200, "{changed:?}");
    }
    let history = writers[2].get(&format!("/chats/{r1}/tasks/{number}/history")).await.data();
    let edits = history.as_array().unwrap().iter().filter(|entry| entry["event"] == "edited");
    let recorded = edits.map(|entry| entry["payload"]["subject"]["to"].clone()).collect::<Vec<_>>();
    assert_eq!(recorded.len(), 20);
    for listener in &mut listeners {
        let mut heard = Vec::new();
        for _ in 0..recorded.len() {
            heard.push(listener.hears("task_updated").await["subject"].clone());
        }
        assert_eq!(heard, recorded);
    }
}

/// However many changes there are in a second, the humans get the counts of its end.
async fn humans_are_told_the_counts(here: &Server, there: &Server) {
    let cast = Cast::on(here).await;
    let (a1, r1) = (cast.a1.on(here), cast.r1.as_str());
    let number = &create(&a1, r1, json!({"subject": "x"})).await["number"];
    elapse(ANNOUNCED).await;
    let mut ann = Socket::of(there, &cast.u1).await;
    let topic = format!("user_rooms:{}", cast.u1.id);
    ann.join("1", &topic).await;
    let since = Instant::now();
    for turn in 0..20 {
        let status = if turn % 2 == 0 { "blocked" } else { "in_review" };
        assert_eq!(change(&a1, r1, number, json!({"status": status})).await.status, 200);
    }
    let seconds = usize::try_from(since.elapsed().as_secs()).unwrap();
    let shown = cast.u1.get(&format!("/chats/{r1}")).await.data();
    assert_eq!(shown["task_counts"]["in_review"], 1);
    let mut rows = Vec::new();
    while rows.last().is_none_or(|row: &Value| row["task_counts"] != shown["task_counts"]) {
        rows.push(ann.event("1", &topic, "room_updated").await);
    }
    elapse(ANNOUNCED).await;
    ann.send_raw(r#"[null,"hb","phoenix","heartbeat",{}]"#).await;
    loop {
        let mut frame = ann.frame().await;
        if frame[2] == "phoenix" {
            break;
        }
        rows.push(frame[4].take());
    }
    assert!(rows.len() <= 2 + seconds, "{rows:?}");
    let last = rows.pop().unwrap();
    assert_eq!((&last["id"], &last["task_counts"]), (&json!(r1), &shown["task_counts"]));
}

#[tokio::test]
async fn a_board_is_shared_by_everybody_in_the_room() {
    let server = Server::start_alone(&[("PARLANCE_RATE_LIMITS", "false")]).await;
    everybody_in_the_room_hears_of_its_board(&server, &server).await;
}

#[tokio::test]
async fn changes_of_a_task_are_heard_in_their_order() {
    let server = Server::start_alone(&[("PARLANCE_RATE_LIMITS", "false")]).await;
    changes_are_heard_in_their_order(&server, &server).await;
}

#[tokio::test]
async fn humans_are_told_the_counts_once_a_second() {
    let server = Server::start_alone(&[("PARLANCE_RATE_LIMITS", "false")]).await;
    humans_are_told_the_counts(&server, &server).await;
}

async fn two_servers() -> Fleet {
    let fleet = Fleet::with_nats(2, &[]).await;
    fleet.acquainted().await;
    fleet
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_board_is_shared_over_two_servers() {
    let fleet = two_servers().await;
    everybody_in_the_room_hears_of_its_board(&fleet.servers[0], &fleet.servers[1]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_a_task_are_heard_in_their_order_on_another_server() {
    let fleet = two_servers().await;
    changes_are_heard_in_their_order(&fleet.servers[0], &fleet.servers[1]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn humans_are_told_the_counts_on_another_server() {
    let fleet = two_servers().await;
    humans_are_told_the_counts(&fleet.servers[0], &fleet.servers[1]).await;
}

/// The flag, the paths, and the topic belong together; what is on the board of a room goes with the room all the same.
#[tokio::test]
async fn a_server_without_boards_says_so() {
    let mut server = Server::start_alone(&[]).await;
    let cast = Cast::on(&server).await;
    create(&cast.a1, &cast.r1, json!({"subject": "x"})).await;
    let flags = async |by: &Api, path: &str| {
        let shown = by.get(path).await.data();
        let agent = if shown.is_array() { shown[0].clone() } else { shown };
        agent["feature_flags"]["ff_room_tasks"].clone()
    };
    let own = format!("/agents/{}", cast.a1.id);
    let places = [(&cast.a1, "/me"), (&cast.u1, "/agents"), (&cast.u1, own.as_str())];
    for (by, path) in places {
        assert_eq!(flags(by, path).await, json!(true), "{path}");
    }
    server.terminate().await;
    server.set("PARLANCE_MAX_TASKS", "0");
    server.run().await;
    for (by, path) in places {
        assert_eq!(flags(by, path).await, json!(false), "{path}");
    }
    let mut ann = Socket::of(&server, &cast.u1).await;
    ann.refused("1", &board_of(&cast.r1), "unauthorized").await;
    let read = cast.a1.get(&format!("/chats/{}/tasks/1", cast.r1)).await;
    assert_eq!((read.status, read.code()), (404, "not_found"));
    let path = format!("/chats/{}", cast.r1);
    assert!((200..300).contains(&cast.u1.delete(&path).await.status));
}
