//! Joins whose answer is slow: events meanwhile, and the order of frames.

use std::sync::Arc;

use domain::id::ParticipantId;
use serde_json::json;
use ws_gateway::HubConfig;

use crate::gate::Gate;
use crate::harness::Bench;

async fn gated() -> (Bench, Arc<Gate>) {
    let mut gate = None;
    let bench = Bench::asking(HubConfig::default(), |world| {
        let made = gate.insert(Gate::before(world));
        made.service(world)
    });
    let bench = bench.await;
    (bench, gate.unwrap())
}

#[actix_web::test]
async fn what_is_sent_meanwhile_comes_behind_the_answer() {
    let (bench, gate) = gated().await;
    let topic = bench.chat_topic();
    let mut one = bench.socket(&bench.one.key).await;
    one.ask("1", &topic).await;
    gate.until_looked_up().await;
    let to = [ParticipantId::Agent(bench.one.id)];
    for text in ["first", "second", "third"] {
        bench.world.send(bench.ann.caller, bench.room, text, &to).await;
    }
    gate.pass();
    one.answer("1", &topic, "ok", json!({})).await;
    for text in ["first", "second", "third"] {
        let payload = one.event("1", &topic, "message_created").await;
        assert!(payload["content"].as_str().unwrap().ends_with(text), "{payload}");
    }
    bench.end().await;
}

#[actix_web::test]
async fn a_removal_meanwhile_wins() {
    let (bench, gate) = gated().await;
    let (chat, people) = (bench.chat_topic(), bench.people_topic());
    let mut one = bench.socket(&bench.one.key).await;
    for (join_ref, topic) in [("1", &people), ("2", &chat)] {
        one.ask(join_ref, topic).await;
        gate.until_looked_up().await;
        if join_ref == "1" {
            gate.pass();
            one.answer_of_people("1", &people).await;
        }
    }
    // It was still in the room when the store was asked.
    let target = bench.one.id;
    bench.world.chats.remove_participant(bench.ann.caller, bench.room, target).await.unwrap();
    gate.pass();
    one.answer("2", &chat, "ok", json!({})).await;
    one.event("1", &people, "participant_removed").await;
    one.ended("2", &chat).await;
    one.ended("1", &people).await;
    bench.world.send(bench.ann.caller, bench.room, "without you", &[]).await;
    one.nothing_came().await;
    bench.end().await;
}

#[actix_web::test]
async fn the_end_of_the_room_meanwhile_wins() {
    let (bench, gate) = gated().await;
    let topic = bench.people_topic();
    let mut one = bench.socket(&bench.one.key).await;
    one.ask("1", &topic).await;
    gate.until_looked_up().await;
    bench.world.chats.delete(bench.ann.caller, bench.room).await.unwrap();
    gate.pass();
    assert_eq!(one.answer_of_people("1", &topic).await, json!([]));
    assert_eq!(one.event("1", &topic, "room_deleted").await, json!({ "id": bench.room.to_string() }));
    one.ended("1", &topic).await;
    bench.end().await;
}

#[actix_web::test]
async fn whoever_is_refused_has_heard_nothing() {
    let (bench, gate) = gated().await;
    let topic = bench.chat_topic();
    let mut ben = bench.socket(&bench.ben.key).await;
    ben.ask("1", &topic).await;
    gate.until_looked_up().await;
    bench.world.send(bench.ann.caller, bench.room, "secret", &[]).await;
    gate.pass();
    ben.answer("1", &topic, "error", json!({ "reason": "unauthorized" })).await;
    bench.world.send(bench.ann.caller, bench.room, "secret", &[]).await;
    ben.nothing_came().await;
    bench.end().await;
}

#[actix_web::test]
async fn joins_are_answered_in_their_order() {
    let (bench, gate) = gated().await;
    let (chat, people) = (bench.chat_topic(), bench.people_topic());
    let own = format!("agent_control:{}", bench.one.id);
    let mut one = bench.socket(&bench.one.key).await;
    for (join_ref, topic) in [("1", &chat), ("2", &own), ("3", &people)] {
        one.ask(join_ref, topic).await;
    }
    gate.until_looked_up().await;
    one.silent().await;
    gate.pass();
    one.answer("1", &chat, "ok", json!({})).await;
    one.answer("2", &own, "ok", json!({})).await;
    gate.pass();
    one.answer_of_people("3", &people).await;
    bench.end().await;
}

#[actix_web::test]
async fn a_store_without_an_answer_costs_one_join() {
    let (bench, gate) = gated().await;
    let topic = bench.chat_topic();
    let mut one = bench.socket(&bench.one.key).await;
    gate.break_down();
    gate.pass();
    one.refused("1", &topic, "join crashed").await;
    one.join("2", &format!("agent_rooms:{}", bench.one.id)).await;
    bench.end().await;
}

/// However many sockets somebody has: the store's queue is for everybody.
#[actix_web::test]
async fn of_one_caller_eight_joins_are_decided_at_once() {
    let (bench, gate) = gated().await;
    let topic = bench.chat_topic();
    let mut sockets = Vec::new();
    for _ in 0..12 {
        let mut socket = bench.socket(&bench.ann.key).await;
        socket.ask("1", &topic).await;
        sockets.push(socket);
    }
    for _ in 0..8 {
        gate.until_looked_up().await;
    }
    let mut one = bench.socket(&bench.one.key).await;
    one.ask("1", &topic).await;
    gate.until_looked_up().await;
    one.silent().await;
    assert_eq!(gate.looked_up(), 0, "the others wait for their turn");
    for _ in 0..13 {
        gate.pass();
    }
    one.answer("1", &topic, "ok", json!({})).await;
    for mut socket in sockets {
        socket.answer("1", &topic, "ok", json!({})).await;
    }
    bench.end().await;
}

#[actix_web::test]
async fn who_waits_for_a_turn_hears_of_the_end() {
    let (bench, gate) = gated().await;
    let topic = bench.chat_topic();
    let mut sockets = Vec::new();
    for _ in 0..9 {
        let mut socket = bench.socket(&bench.ann.key).await;
        socket.ask("1", &topic).await;
        sockets.push(socket);
    }
    for _ in 0..8 {
        gate.until_looked_up().await;
    }
    bench.hub.shut_down();
    bench.until_open(8).await;
    for _ in 0..8 {
        gate.pass();
    }
    bench.until_open(0).await;
    bench.end().await;
}
