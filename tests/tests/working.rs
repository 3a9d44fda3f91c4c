//! The end of "working", on one server and on two.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Fleet, Server, Socket, until};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

async fn report(agent: &Api, room: &str) {
    let answer = agent.post(&format!("/chats/{room}/activity"), json!({"working": true})).await;
    assert_eq!(answer.data(), json!({"working": true}));
}

async fn status(by: &Api, room: &str) -> Value {
    by.get(&format!("/chats/{room}")).await.data()["work_status"].clone()
}

/// A human's socket that listens to the activity in a room where nobody works.
async fn watch(server: &Server, who: &Api, room: &str) -> (Socket, String) {
    let (mut socket, topic) = (Socket::of(server, who).await, format!("room_activity:{room}"));
    socket.join_with("1", &topic, json!({"working_agents": []})).await;
    (socket, topic)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_leaves_or_is_removed_is_not_at_work() {
    let server = Server::start().await;
    let cast = Cast::on(&server).await;
    let (mut watching, topic) = watch(&server, &cast.u1, &cast.r1).await;
    // It has no socket.
    report(&cast.a1, &cast.r1).await;
    watching.event("1", &topic, "agent_activity_started").await;
    assert_eq!(status(&cast.u1, &cast.r1).await, "working");
    let removed = cast.u1.delete(&format!("/chats/{}/participants/{}", cast.r1, cast.a1.id)).await;
    assert!(matches!(removed.status, 200 | 204), "{removed:?}");
    watching.event("1", &topic, "agent_activity_stopped").await;
    assert_eq!(status(&cast.u1, &cast.r1).await, "idle");
}

/// The agent reports to one server, and its room is shown by the other. Then that server is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_leaves_nobody_at_work() {
    let mut fleet = Fleet::with_nats(2, &[]).await;
    fleet.acquainted().await;
    let [here, there] = &fleet.servers[..] else { panic!("two") };
    let cast = Cast::on(here).await;
    let (mut watching, topic) = watch(here, &cast.u1, &cast.r1).await;
    let agent = cast.a1.on(there);
    let mut socket = Socket::of(there, &cast.a1).await;
    socket.join("r", &format!("chat_room:{}", cast.r1)).await;
    report(&agent, &cast.r1).await;
    watching.event("1", &topic, "agent_activity_started").await;
    assert_eq!(status(&cast.u1, &cast.r1).await, "working", "the other server knows");
    fleet.servers[1].kill9();
    // Which takes ten seconds, longer than a socket is waited for.
    until("nobody works", async || status(&cast.u1, &cast.r1).await == "idle").await;
    watching.event("1", &topic, "agent_activity_stopped").await;
}

/// What an agent reports to one server, agents read from the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_does_is_seen_on_every_server() {
    let fleet = Fleet::with_nats(2, &[]).await;
    fleet.acquainted().await;
    let [here, there] = &fleet.servers[..] else { panic!("two") };
    let cast = Cast::on(here).await;
    // A room is shown there once somebody listens.
    let _watching = watch(there, &cast.u1, &cast.r1).await;
    let path = format!("/chats/{}/activity", cast.r1);
    for (kind, name) in [("tool_call", Some("search")), ("permission", None)] {
        let mut activity = json!({"kind": kind});
        if let Some(name) = name {
            activity["name"] = json!(name);
        }
        until("the activity is not seen", async || {
            let report = json!({"working": true, "activity": activity});
            assert_eq!(cast.a1.post(&path, report).await.status, 200);
            let seen = cast.a2.on(there).get(&path).await.data()["working_agents"].clone();
            seen[0]["agent_id"] == json!(cast.a1.id) && seen[0]["activity"] == activity
        })
        .await;
    }
    assert_eq!(cast.a3.on(there).get(&path).await.status, 404);
}

/// A room is shown by both servers, and an agent that reports to both in turn is at work until it stops.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_may_report_to_any_server() {
    let fleet = Fleet::with_nats(2, &[]).await;
    fleet.acquainted().await;
    let [here, there] = &fleet.servers[..] else { panic!("two") };
    let cast = Cast::on(here).await;
    let (mut here_shown, topic) = watch(here, &cast.u1, &cast.r1).await;
    let (mut there_shown, _) = watch(there, &cast.u1, &cast.r1).await;
    report(&cast.a1, &cast.r1).await;
    for shown in [&mut here_shown, &mut there_shown] {
        shown.event("1", &topic, "agent_activity_started").await;
    }
    report(&cast.a1.on(there), &cast.r1).await;
    let idle = json!({"working": false});
    let answer = cast.a1.on(there).post(&format!("/chats/{}/activity", cast.r1), idle.clone()).await;
    assert_eq!(answer.data(), idle);
    for shown in [&mut here_shown, &mut there_shown] {
        shown.event("1", &topic, "agent_activity_stopped").await;
    }
    for server in [here, there] {
        until("nobody works", async || status(&cast.u1.on(server), &cast.r1).await == "idle").await;
    }
}

/// Why the last socket of an agent ended, according to the command line.
fn last_disconnect(server: &Server, handle: &str) -> Value {
    let output = server.command().args(["agent", "show", handle, "--json"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let shown = serde_json::from_slice::<Value>(&output.stdout).unwrap();
    let agent = &shown["agent"];
    assert_eq!(agent["last_disconnected_at"].is_null(), agent["last_disconnect_reason"].is_null());
    agent["last_disconnect_reason"].clone()
}

async fn must_be(server: &Server, handle: &str, reason: &str) {
    until(reason, async || last_disconnect(server, handle) == reason).await;
}

async fn listen(server: &Server, agent: &Api, room: &str) -> Socket {
    let mut socket = Socket::of(server, agent).await;
    socket.join("r", &format!("chat_room:{room}")).await;
    socket
}

/// An agent that is killed during an attempt is not at work, and its owner sees why; also after a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_killed_during_an_attempt_is_not_at_work() {
    let mut server = Server::start_alone(&[]).await;
    let cast = Cast::on(&server).await;
    let sent = cast.u1.sent(&cast.r1, "hello", &[&cast.a1.id]).await;
    let mut socket = listen(&server, &cast.a1, &cast.r1).await;
    assert_eq!(cast.a1.step(&cast.r1, &sent, "processing").await.status, 200);
    assert_eq!(status(&cast.u1, &cast.r1).await, "working");
    assert_eq!(last_disconnect(&server, "ann/one"), Value::Null);
    socket.send_message(Message::Close(None)).await.unwrap();
    must_be(&server, "ann/one", "client_closed").await;
    until("nobody works", async || status(&cast.u1, &cast.r1).await == "idle").await;
    let socket = listen(&server, &cast.a1, &cast.r1).await;
    until("it works again", async || status(&cast.u1, &cast.r1).await == "working").await;
    // The connection breaks, as with `kill -9`.
    drop(socket);
    must_be(&server, "ann/one", "connection_lost").await;
    until("nobody works", async || status(&cast.u1, &cast.r1).await == "idle").await;
    let work = cast.u1.get("/work").await.data();
    assert_eq!(work[0]["agent"]["last_disconnect_reason"], "connection_lost");
    assert!(work[0]["agent"]["last_disconnected_at"].is_string(), "{work}");
    let _open = listen(&server, &cast.a1, &cast.r1).await;
    server.terminate().await;
    server.run().await;
    assert_eq!(last_disconnect(&server, "ann/one"), "server_closed");
    assert_eq!(status(&cast.u1, &cast.r1).await, "idle");
    let _open = listen(&server, &cast.a1, &cast.r1).await;
    let disabled = server.command().args(["agent", "disable", "ann/one"]).output().unwrap();
    assert!(disabled.status.success(), "{disabled:?}");
    must_be(&server, "ann/one", "account_ended").await;
    assert_eq!(status(&cast.u1, &cast.r1).await, "idle");
}

/// The agent is connected to one of two servers, which is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_server_tells_that_the_server_of_a_socket_was_killed() {
    let mut fleet = Fleet::with_nats(2, &[]).await;
    fleet.acquainted().await;
    let [here, there] = &fleet.servers[..] else { panic!("two") };
    let cast = Cast::on(here).await;
    let sent = cast.u1.sent(&cast.r1, "hello", &[&cast.a1.id]).await;
    let mut socket = listen(there, &cast.a1, &cast.r1).await;
    assert_eq!(cast.a1.on(there).step(&cast.r1, &sent, "processing").await.status, 200);
    socket.send_message(Message::Close(None)).await.unwrap();
    must_be(here, "ann/one", "client_closed").await;
    until("nobody works", async || status(&cast.u1, &cast.r1).await == "idle").await;
    let _open = listen(there, &cast.a1, &cast.r1).await;
    until("a socket elsewhere counts", async || status(&cast.u1, &cast.r1).await == "working").await;
    fleet.servers[1].kill9();
    until("nobody works", async || status(&cast.u1, &cast.r1).await == "idle").await;
}
