//! Presence in rooms, over real sockets.

use std::time::Duration;

use domain::chat::Role;
use domain::id::ParticipantId;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::client::Client;
use crate::harness::Bench;

fn row(who: ParticipantId, online: bool) -> Value {
    let status = who.agent().map(|_| if online { "connected" } else { "disconnected" });
    json!({"id": who.to_string(), "type": who.kind().as_str(), "online": online, "connection_status": status})
}

/// A human hears this next, under both its names.
async fn expect_change(human: &mut Client, topic: &str, who: ParticipantId, online: bool) {
    assert_eq!(human.event("1", topic, "participant_presence_changed").await, row(who, online));
    let (event, word) =
        if online { ("agent_connected", "connected") } else { ("agent_disconnected", "disconnected") };
    let room = topic.split_once(':').unwrap().1;
    let expected =
        json!({"id": who.to_string(), "chat_room_id": room, "connected": online, "connection_status": word});
    assert_eq!(human.event("1", topic, event).await, expected);
}

#[actix_web::test]
async fn those_in_the_room_hear_who_connects_and_goes() {
    let bench = Bench::new().await;
    let (topic, one) = (bench.people_topic(), ParticipantId::Agent(bench.one.id));
    let mut ann = bench.socket(&bench.ann.key).await;
    let snapshot = ann.join_people("1", &topic).await;
    let (user, two) = (ParticipantId::User(bench.ann.id), ParticipantId::Agent(bench.two.id));
    assert_eq!(snapshot, json!([row(user, true), row(one, false), row(two, false)]));

    let mut socket = bench.socket(&bench.one.key).await;
    expect_change(&mut ann, &topic, one, true).await;
    // Whoever is in no room with her is none of her business.
    let stranger = bench.socket(&bench.three.key).await;
    bench.until_open(3).await;
    ann.nothing_came().await;
    // A good-bye counts at once, whatever its code.
    let frame = CloseFrame { code: CloseCode::Away, reason: "".into() };
    socket.send(Message::Close(Some(frame))).await;
    expect_change(&mut ann, &topic, one, false).await;
    drop(stranger);
    bench.end().await;
}

#[actix_web::test]
async fn a_broken_connection_is_told_after_ten_seconds() {
    let bench = Bench::new().await;
    let (topic, one) = (bench.people_topic(), ParticipantId::Agent(bench.one.id));
    let mut ann = bench.socket(&bench.ann.key).await;
    let first = bench.socket(&bench.one.key).await;
    ann.join("1", &topic).await;
    drop(first);
    bench.until_open(1).await;
    bench.world.clock.advance(Duration::from_secs(9));
    bench.hub.expire_presence();
    let second = bench.socket(&bench.one.key).await;
    bench.world.clock.advance(Duration::from_secs(9));
    bench.hub.expire_presence();
    ann.nothing_came().await;
    drop(second);
    bench.until_open(1).await;
    bench.world.clock.advance(Duration::from_secs(10));
    bench.hub.expire_presence();
    expect_change(&mut ann, &topic, one, false).await;
    bench.end().await;
}

#[actix_web::test]
async fn whoever_comes_into_a_room_comes_with_it() {
    let bench = Bench::new().await;
    let room = bench.world.chat(bench.ann.caller, &[]).await;
    let topic = format!("room_participants:{room}");
    let mut ann = bench.socket(&bench.ann.key).await;
    let _one = bench.socket(&bench.one.key).await;
    ann.join("1", &topic).await;
    for (agent, online) in [(&bench.one, true), (&bench.two, false)] {
        bench.world.add(bench.ann.caller, room, agent.id.into(), Role::Member).await;
        let added = ann.event("1", &topic, "participant_added").await;
        assert_eq!((&added["id"], &added["online"]), (&json!(agent.id.to_string()), &json!(online)));
    }
    let _two = bench.socket(&bench.two.key).await;
    expect_change(&mut ann, &topic, ParticipantId::Agent(bench.two.id), true).await;
    bench.end().await;
}

/// Agents hear of each other, and of humans, under the one name.
#[actix_web::test]
async fn agents_hear_who_is_there_too() {
    let bench = Bench::new().await;
    let topic = bench.people_topic();
    let mut one = bench.socket(&bench.one.key).await;
    one.join("1", &topic).await;
    let _two = bench.socket(&bench.two.key).await;
    let _ann = bench.socket(&bench.ann.key).await;
    for who in [ParticipantId::Agent(bench.two.id), ParticipantId::User(bench.ann.id)] {
        assert_eq!(one.event("1", &topic, "participant_presence_changed").await, row(who, true));
    }
    one.nothing_came().await;
    bench.end().await;
}
