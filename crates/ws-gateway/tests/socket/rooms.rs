//! Events on the topics of rooms, and of their users and agents.

use domain::chat::Role;
use domain::id::ParticipantId;
use serde_json::json;

use crate::control::execution_of;
use crate::harness::Bench;

#[actix_web::test]
async fn a_text_reaches_humans_and_whom_it_mentions() {
    let bench = Bench::new().await;
    let topic = bench.chat_topic();
    let (mut one, mut two) = (bench.socket(&bench.one.key).await, bench.socket(&bench.two.key).await);
    let (mut ann, mut ann_again) = (bench.socket(&bench.ann.key).await, bench.socket(&bench.ann.key).await);
    one.join("4", &topic).await;
    two.join("5", &topic).await;
    ann.join("3", &topic).await;
    ann_again.join("11", &topic).await;

    let to_one = [ParticipantId::Agent(bench.one.id)];
    let sent = bench.world.send(bench.ann.caller, bench.room, "hello", &to_one).await;
    let payload = one.event("4", &topic, "message_created").await;
    let text = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
    assert_eq!(text("id"), sent.id.to_string());
    assert_eq!(text("chat_room_id"), bench.room.to_string());
    assert_eq!((text("message_type"), text("sender_type")), ("text".to_owned(), "User".to_owned()));
    assert_eq!(
        (text("sender_id"), text("sender_handle")),
        (bench.ann.id.to_string(), bench.ann.handle.clone())
    );
    assert_eq!(payload["metadata"]["mentions"][0]["id"], bench.one.id.to_string());
    assert!(text("inserted_at").ends_with('Z') && text("updated_at").ends_with('Z'), "{payload}");
    assert_eq!(payload.get("sequence"), None);
    for (socket, join_ref) in [(&mut ann, "3"), (&mut ann_again, "11")] {
        let seen = socket.event(join_ref, &topic, "message_created").await;
        assert_eq!((&seen["id"], &seen["sequence"]), (&payload["id"], &json!(1)));
    }

    let to_two = [ParticipantId::Agent(bench.two.id)];
    bench.world.send(bench.one.caller, bench.room, "your turn", &to_two).await;
    assert_eq!(two.event("5", &topic, "message_created").await["sender_handle"], json!(bench.one.handle));
    for (socket, join_ref) in [(&mut ann, "3"), (&mut ann_again, "11")] {
        assert_eq!(socket.event(join_ref, &topic, "message_created").await["sender_type"], "Agent");
    }
    for socket in [&mut one, &mut two, &mut ann] {
        socket.nothing_came().await;
    }
    bench.end().await;
}

#[actix_web::test]
async fn a_topic_is_echoed_as_it_was_written() {
    let bench = Bench::new().await;
    let topic = format!("chat_room:{}", bench.room.to_string().to_uppercase());
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.join("007", &topic).await;
    bench.world.send(bench.ann.caller, bench.room, "hello", &[]).await;
    ann.event("007", &topic, "message_created").await;
    bench.end().await;
}

#[actix_web::test]
async fn whoever_comes_and_goes_is_announced() {
    let bench = Bench::new().await;
    let (chat, people) = (bench.chat_topic(), bench.people_topic());
    let room = bench.world.chat(bench.ann.caller, &[]).await;
    let others = format!("room_participants:{room}");
    let (mut ann, mut two) = (bench.socket(&bench.ann.key).await, bench.socket(&bench.two.key).await);
    ann.join("1", &others).await;
    let own = format!("agent_rooms:{}", bench.two.id);
    two.join("2", &own).await;
    bench.world.add(bench.ann.caller, room, bench.two.id.into(), Role::Member).await;
    let added = ann.event("1", &others, "participant_added").await;
    let id = bench.two.id.to_string();
    assert_eq!((&added["id"], &added["name"], &added["type"]), (&json!(id), &json!("Two"), &json!("Agent")));
    for never_null in ["handle", "role", "status"] {
        assert!(added[never_null].is_string(), "{added}");
    }
    let added = two.event("2", &own, "room_added").await;
    assert_eq!(added["id"], room.to_string());
    for text in ["title", "status", "type", "inserted_at", "updated_at"] {
        assert!(added[text].is_string(), "{added}");
    }

    two.join("3", &chat).await;
    two.join("4", &people).await;
    ann.join("5", &people).await;
    let target = bench.two.id;
    bench.world.chats.remove_participant(bench.ann.caller, bench.room, target).await.unwrap();
    let removed = ann.event("5", &people, "participant_removed").await;
    assert_eq!((&removed["id"], &removed["name"]), (&json!(id), &json!("Two")));
    assert_eq!(removed["type"], "Agent");
    two.event("4", &people, "participant_removed").await;
    two.ended("3", &chat).await;
    two.ended("4", &people).await;
    let removed = two.event("2", &own, "room_removed").await;
    assert_eq!(removed["id"], bench.room.to_string());
    for text in ["title", "status", "type", "removed_at", "inserted_at", "updated_at"] {
        assert!(removed[text].is_string(), "{removed}");
    }
    two.refused("6", &chat, "unauthorized").await;
    bench.end().await;
}

#[actix_web::test]
async fn a_deleted_room_ends_every_channel_of_it() {
    let bench = Bench::new().await;
    let (chat, people) = (bench.chat_topic(), bench.people_topic());
    let activity = format!("room_activity:{}", bench.room);
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.join("1", &chat).await;
    ann.join("2", &people).await;
    ann.ask("3", &activity).await;
    ann.answer("3", &activity, "ok", json!({ "working_agents": [] })).await;
    bench.world.chats.delete(bench.ann.caller, bench.room).await.unwrap();
    assert_eq!(ann.event("2", &people, "room_deleted").await, json!({ "id": bench.room.to_string() }));
    ann.ended("1", &chat).await;
    ann.ended("2", &people).await;
    ann.ended("3", &activity).await;
    ann.nothing_came().await;
    for (join_ref, topic) in [("4", &chat), ("5", &people), ("6", &activity)] {
        ann.refused(join_ref, topic, "unauthorized").await;
    }
    bench.end().await;
}

#[actix_web::test]
async fn indicators_are_for_humans_and_begin_with_a_snapshot() {
    let bench = Bench::new().await;
    let topic = format!("room_activity:{}", bench.room);
    let execution = execution_of(&bench, &bench.one).await;
    let shown = |working: bool| json!({ "agent_id": bench.one.id.to_string(), "execution_id": execution, "working": working });
    bench.world.activity.report(bench.one.caller, bench.room, true).await.unwrap();
    let (mut ann, mut one) = (bench.socket(&bench.ann.key).await, bench.socket(&bench.one.key).await);
    ann.ask("1", &topic).await;
    ann.answer("1", &topic, "ok", json!({ "working_agents": [shown(true)] })).await;
    one.refused("1", &topic, "unauthorized").await;
    bench.world.activity.report(bench.one.caller, bench.room, false).await.unwrap();
    assert_eq!(ann.event("1", &topic, "agent_activity_stopped").await, shown(false));
    bench.world.activity.report(bench.one.caller, bench.room, true).await.unwrap();
    assert_eq!(ann.event("1", &topic, "agent_activity_started").await, shown(true));
    bench.end().await;
}

#[actix_web::test]
async fn topics_of_ones_own_are_joined_by_their_owner_only() {
    let bench = Bench::new().await;
    let (mut ann, mut one) = (bench.socket(&bench.ann.key).await, bench.socket(&bench.one.key).await);
    for pattern in ["user_contacts", "user_agents", "tasks"] {
        let topic = format!("{pattern}:{}", bench.ann.id);
        ann.join("1", &topic).await;
        one.refused("1", &topic, "unauthorized").await;
        ann.refused("2", &format!("{pattern}:{}", bench.ben.id), "unauthorized").await;
    }
    let contacts = format!("agent_contacts:{}", bench.one.id);
    one.join("2", &contacts).await;
    ann.refused("3", &contacts, "unauthorized").await;
    for socket in [&mut ann, &mut one] {
        socket.refused("5", "nonsense:1", "unmatched topic").await;
    }
    bench.end().await;
}
