//! Humans who observe rooms through their agents, and the events of a renamed room.

use std::sync::Arc;

use domain::chat::{ChatTitle, ReadMark, Role};
use domain::id::{ChatId, ParticipantId};
use serde_json::json;
use ws_gateway::HubConfig;

use crate::gate::Gate;
use crate::harness::Bench;

/// A room of One and Two, without Ann.
async fn room_of_agents(bench: &Bench) -> ChatId {
    bench.world.chat(bench.one.caller, &[bench.two.id.into()]).await
}

/// One says something to Two.
async fn say(bench: &Bench, room: ChatId, text: &str) {
    bench.world.send(bench.one.caller, room, text, &[ParticipantId::Agent(bench.two.id)]).await;
}

#[actix_web::test]
async fn an_owner_hears_what_the_own_agents_say() {
    let bench = Bench::new().await;
    let room = room_of_agents(&bench).await;
    let topics = ["chat_room", "room_participants", "room_activity"].map(|name| format!("{name}:{room}"));
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.join("1", &topics[0]).await;
    ann.join("2", &topics[1]).await;
    ann.ask("3", &topics[2]).await;
    ann.answer("3", &topics[2], "ok", json!({"working_agents": []})).await;
    let mut ben = bench.socket(&bench.ben.key).await;
    for (join_ref, topic) in ["1", "2", "3"].into_iter().zip(&topics) {
        ben.refused(join_ref, topic, "unauthorized").await;
    }
    say(&bench, room, "over to you").await;
    ann.event("1", &topics[0], "message_created").await;
    ann.event("2", &topics[1], "room_title_changed").await;
    bench.world.activity.report(bench.two.caller, room, true).await.unwrap();
    ann.event("3", &topics[2], "agent_activity_started").await;
    bench.end().await;
}

#[actix_web::test]
async fn observing_ends_with_the_last_own_agent() {
    let bench = Bench::new().await;
    let chat_of = |room| format!("chat_room:{room}");
    // Ben's agent owns the room; Ann's agents come and go.
    bench.world.make_global(&bench.one).await;
    bench.world.make_global(&bench.two).await;
    let room = bench.world.chat(bench.three.caller, &[bench.one.id.into()]).await;
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.join("1", &chat_of(room)).await;
    bench.world.add(bench.three.caller, room, bench.two.id.into(), Role::Member).await;
    let chats = &bench.world.chats;
    chats.remove_participant(bench.three.caller, room, bench.one.id).await.unwrap();
    // Two has come since: she observes through it.
    ann.nothing_came().await;
    chats.remove_participant(bench.three.caller, room, bench.two.id).await.unwrap();
    ann.ended("1", &chat_of(room)).await;
    ann.refused("2", &chat_of(room), "unauthorized").await;
    bench.end().await;
}

#[actix_web::test]
async fn a_participant_stays_when_an_own_agent_goes() {
    let bench = Bench::new().await;
    let topic = bench.chat_topic();
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.join("1", &topic).await;
    for agent in [&bench.one, &bench.two] {
        let chats = &bench.world.chats;
        chats.remove_participant(bench.ann.caller, bench.room, agent.id).await.unwrap();
    }
    bench.world.send(bench.ann.caller, bench.room, "alone", &[]).await;
    ann.event("1", &topic, "message_created").await;
    bench.end().await;
}

#[actix_web::test]
async fn an_observer_who_comes_in_is_one_no_longer() {
    let bench = Bench::new().await;
    let room = room_of_agents(&bench).await;
    let topic = format!("chat_room:{room}");
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.join("1", &topic).await;
    bench.world.add(bench.one.caller, room, bench.ann.id.into(), Role::Owner).await;
    let chats = &bench.world.chats;
    for agent in [&bench.one, &bench.two] {
        chats.remove_participant(bench.ann.caller, room, agent.id).await.unwrap();
    }
    bench.world.send(bench.ann.caller, room, "mine now", &[]).await;
    ann.event("1", &topic, "message_created").await;
    bench.end().await;
}

/// The agent goes while the store is being asked: the join is answered, and ends.
#[actix_web::test]
async fn an_agents_removal_meanwhile_wins() {
    let mut gate = None;
    let bench = Bench::asking(HubConfig::default(), |world| {
        let made: &mut Arc<Gate> = gate.insert(Gate::before(world));
        made.service(world)
    });
    let bench = bench.await;
    let gate = gate.unwrap();
    bench.world.make_global(&bench.one).await;
    let room = bench.world.chat(bench.three.caller, &[bench.one.id.into()]).await;
    let topic = format!("chat_room:{room}");
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.ask("1", &topic).await;
    gate.until_looked_up().await;
    let chats = &bench.world.chats;
    chats.remove_participant(bench.three.caller, room, bench.one.id).await.unwrap();
    gate.pass();
    ann.answer("1", &topic, "ok", json!({})).await;
    ann.ended("1", &topic).await;
    bench.end().await;
}

/// What is told while the room is held against the store is newer than the answer, and counts.
#[actix_web::test]
async fn what_becomes_known_while_a_room_is_looked_at_again_wins() {
    let bench = Bench::new().await;
    let gate = Gate::before(&bench.world);
    let (service, hub) = (gate.service(&bench.world), bench.hub.clone());
    bench.world.make_global(&bench.one).await;
    bench.world.make_global(&bench.two).await;
    let room = bench.world.chat(bench.three.caller, &[bench.one.id.into()]).await;
    let topic = format!("chat_room:{room}");
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.join("1", &topic).await;
    let looking = actix_web::rt::spawn(async move { hub.revalidate(room, &service).await.unwrap() });
    gate.until_looked_up().await;
    bench.world.add(bench.three.caller, room, bench.two.id.into(), Role::Member).await;
    let chats = &bench.world.chats;
    chats.remove_participant(bench.three.caller, room, bench.one.id).await.unwrap();
    gate.pass();
    gate.until_looked_up().await;
    gate.pass();
    looking.await.unwrap();
    bench.world.send(bench.three.caller, room, "still here?", &[ParticipantId::Agent(bench.two.id)]).await;
    ann.event("1", &topic, "message_created").await;
    chats.remove_participant(bench.three.caller, room, bench.two.id).await.unwrap();
    ann.ended("1", &topic).await;
    bench.end().await;
}

#[actix_web::test]
async fn what_is_read_is_told_to_the_readers_own_sockets() {
    let bench = Bench::new().await;
    let rooms = format!("user_rooms:{}", bench.ann.id);
    let mut ann = bench.socket(&bench.ann.key).await;
    ann.join("1", &rooms).await;
    bench.world.send(bench.one.caller, bench.room, "hi", &[ParticipantId::User(bench.ann.id)]).await;
    bench.world.chats.mark_read(bench.ann.caller, bench.room, ReadMark::Newest).await.unwrap();
    let unread = json!({"count": 0, "mentions": 0, "read_sequence": 1, "muted": false});
    let read = json!({"id": bench.room.to_string(), "unread": unread});
    assert_eq!(ann.event("1", &rooms, "room_read").await, read);
}

#[actix_web::test]
async fn a_renamed_room_is_told_to_its_people() {
    let bench = Bench::new().await;
    let (people, rooms) = (bench.people_topic(), format!("user_rooms:{}", bench.ann.id));
    let mut ann = bench.socket(&bench.ann.key).await;
    let mut one = bench.socket(&bench.one.key).await;
    ann.join("1", &people).await;
    ann.join("2", &rooms).await;
    one.join("1", &people).await;
    let title = ChatTitle::renamed("Plan B").unwrap();
    bench.world.chats.rename(bench.ann.caller, bench.room, title).await.unwrap();
    let changed = json!({"id": bench.room.to_string(), "title": "Plan B"});
    assert_eq!(ann.event("1", &people, "room_title_changed").await, changed);
    assert_eq!(one.event("1", &people, "room_title_changed").await, changed);
    let row = ann.event("2", &rooms, "room_updated").await;
    assert_eq!((&row["id"], &row["title"]), (&changed["id"], &changed["title"]));
    assert_eq!((row["agents"].as_array().unwrap().len(), &row["work_status"]), (2, &json!("idle")));
    one.nothing_came().await;
    bench.end().await;
}
