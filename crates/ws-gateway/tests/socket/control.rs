//! Signals to agents.

use domain::page::{PageRequest, Slice};
use serde_json::{Value, json};
use testkit::TestAgent;

use crate::client::Client;
use crate::harness::Bench;

const ALL: PageRequest = PageRequest { slice: Slice::After { after: None, limit: 10 }, count: false };

/// The id of the only execution of an agent of Ann's.
pub(crate) async fn execution_of(bench: &Bench, agent: &TestAgent) -> String {
    let page = bench.world.control.executions(bench.ann.caller, agent.id, ALL).await.unwrap();
    let [execution] = &page.rows[..] else { panic!("one room: {page:?}") };
    execution.id().to_string()
}

/// The next frame must be a signal; its payload without the correlation id, and that id.
async fn signal(socket: &mut Client, agent: &TestAgent) -> (Value, String) {
    let mut payload = socket.event("1", &format!("agent_control:{}", agent.id), "agent.control").await;
    let id = payload.as_object_mut().unwrap().remove("correlation_id").unwrap();
    (payload, id.as_str().unwrap().to_owned())
}

/// Both agents of the room, each with its own id; not the agent of another room, and no human.
#[actix_web::test]
async fn signals_reach_the_agents_of_the_room() {
    let bench = Bench::new().await;
    let mut sockets = Vec::new();
    for agent in [&bench.one, &bench.two, &bench.three] {
        let mut socket = bench.socket(&agent.key).await;
        socket.join("1", &format!("agent_control:{}", agent.id)).await;
        sockets.push(socket);
    }
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.refused("1", &format!("agent_control:{}", bench.one.id), "unauthorized").await;
    ann.join("2", &format!("user_rooms:{}", bench.ann.id)).await;
    let control = &bench.world.control;
    let mut seen = Vec::new();
    for (mode, updates) in [("stop", true), ("stop", false), ("play", true), ("play", false)] {
        let called = match mode {
            "stop" => control.stop(bench.ann.caller, bench.room).await,
            _ => control.play(bench.ann.caller, bench.room).await,
        };
        called.unwrap();
        for (socket, agent) in sockets.iter_mut().zip([&bench.one, &bench.two]) {
            let (payload, id) = signal(socket, agent).await;
            let expected = json!({
                "type": "agent.control", "mode": mode, "scope": "room", "agent_id": agent.id.to_string(),
                "room_id": bench.room.to_string(), "execution_id": execution_of(&bench, agent).await,
                "reason": "user_requested",
            });
            assert_eq!(payload, expected);
            seen.push(id);
        }
        if updates {
            let topic = format!("user_rooms:{}", bench.ann.id);
            let row = ann.event("2", &topic, "room_updated").await;
            assert_eq!(row["work_status"], if mode == "stop" { "stopped" } else { "idle" });
        }
        ann.nothing_came().await;
        sockets[2].nothing_came().await;
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 8, "each signal has its own id");
    bench.end().await;
}

#[actix_web::test]
async fn an_interrupt_is_for_all_rooms_of_one_agent() {
    let bench = Bench::new().await;
    let execution = execution_of(&bench, &bench.one).await;
    let (mut one, mut two) = (bench.socket(&bench.one.key).await, bench.socket(&bench.two.key).await);
    one.join("1", &format!("agent_control:{}", bench.one.id)).await;
    two.join("1", &format!("agent_control:{}", bench.two.id)).await;
    let id = domain::id::ExecutionId::parse(&execution).unwrap();
    bench.world.control.interrupt(bench.ann.caller, bench.one.id, id).await.unwrap();
    let expected = json!({
        "type": "agent.control", "mode": "interrupt", "scope": "agent", "agent_id": bench.one.id.to_string(),
        "room_id": null, "execution_id": execution, "reason": "user_requested",
    });
    assert_eq!(signal(&mut one, &bench.one).await.0, expected);
    two.nothing_came().await;
    bench.end().await;
}

/// Humans hear what is written to a stopped agent; the agent does not.
#[actix_web::test]
async fn a_stopped_agent_hears_nothing_of_the_room() {
    let bench = Bench::new().await;
    let topic = bench.chat_topic();
    let (mut ann, mut one) = (bench.socket(&bench.ann.key).await, bench.socket(&bench.one.key).await);
    ann.join("1", &topic).await;
    one.join("1", &topic).await;
    bench.world.control.stop(bench.ann.caller, bench.room).await.unwrap();
    let to_one = [domain::id::ParticipantId::Agent(bench.one.id)];
    let sent = bench.world.send(bench.ann.caller, bench.room, "hello", &to_one).await.id.to_string();
    assert_eq!(ann.event("1", &topic, "message_created").await["id"], json!(sent));
    one.nothing_came().await;
    bench.world.control.play(bench.ann.caller, bench.room).await.unwrap();
    let sent = bench.world.send(bench.ann.caller, bench.room, "again", &to_one).await.id.to_string();
    assert_eq!(one.event("1", &topic, "message_created").await["id"], json!(sent));
    bench.end().await;
}
