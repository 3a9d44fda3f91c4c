//! The end of "working", on one server and on two.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the failure")]

use e2e::cast::Cast;
use e2e::{Api, Fleet, Server, Socket, until};
use serde_json::{Value, json};

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
    watching.event("1", &topic, "agent_activity_stopped").await;
    until("nobody works", async || status(&cast.u1, &cast.r1).await == "idle").await;
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
