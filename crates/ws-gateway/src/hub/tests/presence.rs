//! Presence and its subscribers.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use domain::change::Change;
use domain::chat::Roster;
use domain::event::DomainEvent;
use domain::id::ParticipantId;
use domain::node::GRACE;
use domain::ports::{EventPublisher, Presence};
use domain::time::Timestamp;
use futures_util::FutureExt;
use serde_json::{Value, json};
use testkit::{FixedClock, NOON};
use uuid::Uuid;

use super::{ROOM, agent, agent_id, open, participant, user};
use crate::hub::claim::SocketClaim;
use crate::hub::{Departure, Hub, HubConfig};
use crate::inbox::{Event, InboxItem, Reader};
use crate::payload;
use crate::topic::Topic;

const NO_ROSTER: Result<Roster, ()> = Err(());

fn hub() -> (Arc<Hub>, Arc<FixedClock>) {
    let clock = Arc::new(FixedClock::at(Timestamp::from_micros(NOON)));
    (Hub::new(HubConfig::default(), clock.clone()), clock)
}

/// User 100 and agent 1 are participants, as is agent 2, which is internal.
fn roster() -> Roster {
    let mut participants = [user(100), agent(1), agent(2)].map(|caller| participant(caller.participant()));
    participants[1].is_external = Some(true);
    participants[2].is_external = Some(false);
    Roster { chat: ROOM, participants: participants.to_vec() }
}

/// Subscribes to the chat's participants; returns the reply to the join.
async fn listen(claim: &SocketClaim) -> Value {
    claim.subscribe(Topic::RoomParticipants(ROOM));
    let people = claim.people(ROOM, async || Ok::<_, ()>(roster())).await.unwrap();
    serde_json::from_str(&payload::participant_presence(&people)).unwrap()
}

/// The presence events that were received.
fn heard(receiver: &mut Reader) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    for received in receiver {
        let InboxItem::Event(Event { payload, .. }) = received else { continue };
        if payload.event == "participant_presence_changed" {
            let content = serde_json::from_str::<Value>(&payload.json).unwrap();
            all.push((content["id"].as_str().unwrap().to_owned(), content["online"].as_bool().unwrap()));
        }
    }
    all
}

fn bot(online: bool) -> (String, bool) {
    (agent_id(1).to_string(), online)
}

fn is_there(hub: &Hub) -> bool {
    hub.is_online(agent(1).participant())
}

#[tokio::test]
async fn presence_is_announced_to_subscribers() {
    let (hub, _) = hub();
    let (human, mut inbox) = open(&hub, user(100));
    let row = |who: ParticipantId, online: bool, status: Value| json!({"id": who.to_string(), "type": who.kind().as_str(), "online": online, "connection_status": status});
    let snapshot = listen(&human).await;
    let expected = json!({"participant_presence": [
        row(agent(1).participant(), false, json!("disconnected")),
        row(agent(2).participant(), true, Value::Null),
        row(user(100).participant(), true, Value::Null),
    ]});
    assert_eq!(snapshot, expected);
    let (claim, _) = open(&hub, agent(1));
    assert_eq!(heard(&mut inbox), [bot(true)]);
    assert!(is_there(&hub));
    claim.release(Departure::Closed);
    assert_eq!(heard(&mut inbox), [bot(false)], "at once");
    assert!(!is_there(&hub));
    drop(claim);
    assert_eq!(heard(&mut inbox), []);
}

#[tokio::test]
async fn a_reconnect_within_ten_seconds_is_not_announced() {
    let (hub, clock) = hub();
    let (human, mut inbox) = open(&hub, user(100));
    let (claim, _) = open(&hub, agent(1));
    listen(&human).await;
    drop(claim);
    clock.advance(GRACE.saturating_sub(Duration::from_millis(1)));
    hub.expire_presence();
    assert!(is_there(&hub));
    let (claim, _) = open(&hub, agent(1));
    hub.expire_presence();
    assert_eq!(heard(&mut inbox), []);

    drop(claim);
    clock.advance(GRACE);
    assert!(!is_there(&hub), "also before it is told");
    hub.expire_presence();
    hub.expire_presence();
    assert_eq!(heard(&mut inbox), [bot(false)]);

    let (claim, _) = open(&hub, agent(1));
    assert_eq!(heard(&mut inbox), [bot(true)]);
    drop(claim);
    clock.advance(GRACE);
    let _claim = open(&hub, agent(1));
    hub.expire_presence();
    assert_eq!(heard(&mut inbox), [], "nobody had been told");
    assert!(is_there(&hub));
}

#[tokio::test]
async fn a_superseded_socket_does_not_affect_presence() {
    let (hub, clock) = hub();
    let (human, mut inbox) = open(&hub, user(100));
    listen(&human).await;
    let (older, _) = open(&hub, agent(1));
    let (newer, _) = open(&hub, agent(1));
    newer.release(Departure::Closed);
    assert_eq!(heard(&mut inbox), [bot(true), bot(false)]);
    drop(older);
    assert!(!is_there(&hub));
    clock.advance(GRACE);
    hub.expire_presence();
    assert_eq!(heard(&mut inbox), []);
}

#[tokio::test]
async fn a_user_is_present_while_one_socket_is_open() {
    let (hub, _) = hub();
    let (listener, mut inbox) = open(&hub, agent(1));
    listen(&listener).await;
    let (one, two) = (open(&hub, user(100)).0, open(&hub, user(100)).0);
    let ann = |online| (Uuid::from_u128(100).to_string(), online);
    assert_eq!(heard(&mut inbox), [ann(true)]);
    one.release(Departure::Closed);
    assert_eq!(heard(&mut inbox), []);
    two.release(Departure::Closed);
    assert_eq!(heard(&mut inbox), [ann(false)]);
}

#[tokio::test]
async fn a_deleted_agent_is_absent_at_once() {
    let (hub, _) = hub();
    let (claim, _) = open(&hub, agent(1));
    hub.follow(Change::Disabled(agent(1).participant()));
    drop(claim);
    assert!(!is_there(&hub));
}

#[tokio::test]
async fn who_comes_into_the_room_is_heard_of_and_who_left_is_not() {
    let (hub, _) = hub();
    let (human, mut inbox) = open(&hub, user(100));
    listen(&human).await;
    let third = agent(3).participant();
    let newcomer = participant(third);
    hub.publish(DomainEvent::ParticipantAdded { chat_id: ROOM, participant: newcomer.clone() });
    let (claim, _) = open(&hub, agent(3));
    assert_eq!(heard(&mut inbox), [(third.to_string(), true)]);
    hub.publish(DomainEvent::ParticipantRemoved { chat_id: ROOM, participant: newcomer });
    drop(claim);
    hub.publish(DomainEvent::RoomDeleted { chat_id: ROOM });
    let _claim = open(&hub, agent(1));
    assert_eq!(heard(&mut inbox), []);
    assert!(hub.subscriptions.watched_chats_of(agent(1).participant()).is_empty(), "nobody listens any more");
}

/// However many sockets join at once, the store is read once; it is read again after all
/// subscriptions have ended.
#[tokio::test]
async fn the_store_is_asked_once() {
    let (hub, _) = hub();
    let topic = Topic::RoomParticipants(ROOM);
    let (one, two) = (open(&hub, user(100)).0, open(&hub, agent(1)).0);
    let (first, second) = (one.subscribe(topic), two.subscribe(topic));
    let asked = Cell::new(0);
    let ask = async || {
        asked.set(asked.get() + 1);
        tokio::task::yield_now().await;
        Ok::<_, ()>(roster())
    };
    let (people, same) = tokio::join!(one.people(ROOM, ask), two.people(ROOM, ask));
    assert_eq!((people.unwrap().len(), same.unwrap().len(), asked.get()), (3, 3, 1));
    one.unsubscribe(topic, first);
    assert_eq!(one.people(ROOM, async || NO_ROSTER).await.unwrap().len(), 3, "another listens");
    two.unsubscribe(topic, second);
    assert_eq!(one.people(ROOM, async || NO_ROSTER).await, Ok(Vec::new()));
    one.subscribe(topic);
    assert_eq!(one.people(ROOM, async || NO_ROSTER).await, Err(()));
    assert_eq!(one.people(ROOM, ask).await.unwrap().len(), 3);
}

/// Whatever the order of the changes, the last event of a subscriber is the current state.
#[test]
fn the_last_presence_event_is_the_current_state() {
    let (hub, _) = hub();
    let (human, mut inbox) = open(&hub, user(100));
    listen(&human).now_or_never().unwrap();
    let threads = (0..4).map(|_| {
        let hub = hub.clone();
        std::thread::spawn(move || {
            for _ in 0..200 {
                open(&hub, agent(1)).0.release(Departure::Closed);
            }
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    let received = heard(&mut inbox);
    assert!(received.windows(2).all(|two| two[0].1 != two[1].1), "there and away take turns");
    assert_eq!((received.first(), received.last()), (Some(&bot(true)), Some(&bot(false))));
}
