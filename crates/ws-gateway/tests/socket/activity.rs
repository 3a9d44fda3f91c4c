//! The end of "is working" indicators, over real sockets.

use std::time::Duration;

use domain::change::Change;
use domain::id::ParticipantId;
use domain::node::GRACE;
use tokio_tungstenite::tungstenite::Message;

use crate::client::Client;
use crate::harness::Bench;

/// What the server does once a second.
fn sweep(bench: &Bench) {
    bench.hub.expire_presence();
    bench.world.activity.clear_gone(&bench.hub.take_gone(), &*bench.hub);
    bench.world.activity.expire(&*bench.hub);
}

async fn report(bench: &Bench) {
    assert!(bench.world.activity.report(bench.one.caller, bench.room, true).await.unwrap());
}

/// Ann hears that the agent works.
async fn at_work(bench: &Bench) -> (Client, String) {
    let mut ann = bench.socket(&bench.ann.key).await;
    let topic = format!("room_activity:{}", bench.room);
    ann.ask("1", &topic).await;
    ann.answer("1", &topic, "ok", serde_json::json!({"working_agents": []})).await;
    report(bench).await;
    ann.event("1", &topic, "agent_activity_started").await;
    (ann, topic)
}

#[actix_web::test]
async fn an_agent_that_leaves_is_not_at_work() {
    let bench = Bench::new().await;
    let mut agent = bench.socket(&bench.one.key).await;
    let (mut ann, topic) = at_work(&bench).await;
    agent.send(Message::Close(None)).await;
    bench.until_open(1).await;
    sweep(&bench);
    ann.event("1", &topic, "agent_activity_stopped").await;
    assert_eq!(bench.world.activity.working_in(bench.room), []);
    bench.end().await;
}

#[actix_web::test]
async fn an_agent_that_is_killed_has_ten_seconds_to_return() {
    let bench = Bench::new().await;
    let killed = bench.socket(&bench.one.key).await;
    let (mut ann, topic) = at_work(&bench).await;
    drop(killed);
    bench.until_open(1).await;
    bench.world.clock.advance(GRACE / 2);
    report(&bench).await;
    sweep(&bench);
    let returned = bench.socket(&bench.one.key).await;
    bench.world.clock.advance(GRACE / 2);
    report(&bench).await;
    sweep(&bench);
    ann.nothing_came().await;
    drop(returned);
    bench.until_open(1).await;
    bench.world.clock.advance(GRACE.checked_sub(Duration::from_millis(1)).unwrap());
    // It would be on for ten seconds more.
    report(&bench).await;
    sweep(&bench);
    ann.nothing_came().await;
    bench.world.clock.advance(Duration::from_millis(1));
    sweep(&bench);
    ann.event("1", &topic, "agent_activity_stopped").await;
    bench.end().await;
}

#[actix_web::test]
async fn an_agent_that_is_disabled_is_not_at_work() {
    let bench = Bench::new().await;
    // It has no socket.
    let (mut ann, topic) = at_work(&bench).await;
    bench.hub.follow(Change::Disabled(ParticipantId::Agent(bench.one.id)));
    sweep(&bench);
    ann.event("1", &topic, "agent_activity_stopped").await;
    bench.end().await;
}

#[actix_web::test]
async fn who_returns_at_once_stays_at_work() {
    let bench = Bench::new().await;
    let mut first = bench.socket(&bench.one.key).await;
    let (mut ann, _) = at_work(&bench).await;
    first.send(Message::Close(None)).await;
    bench.until_open(1).await;
    let second = bench.socket(&bench.one.key).await;
    sweep(&bench);
    ann.nothing_came().await;
    drop(second);
    bench.end().await;
}
