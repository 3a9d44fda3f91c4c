//! Receivers and order of events, and one socket per agent.

mod presence;
mod revalidate;

use super::claim::SocketClaim;
use super::*;
use actix_web::web::Data;
use domain::activity::AgentActivity;
use domain::caller::Caller;
use domain::chat::{Entrance, Participant, Role, Standing, Unread};
use domain::event::DomainEvent;
use domain::id::{Sequence, UserId};
use domain::ports::EventPublisher;
use domain::time::Timestamp;
pub(crate) use testkit::bus::{BARE, ROOM, agent, agent_id, message, participant, user};
use testkit::{FixedClock, NOON, TestAgent, TestUser, World};
use uuid::Uuid;

use crate::context::SocketContext;
use crate::frame::Version;
use crate::inbox::{Inbox, InboxItem, Reader};
use crate::machine::{Action, JoinDecision, Machine};
use crate::outbox::Outbox;
use crate::payload;
use crate::redelivery::{Pushed, redeliver};
use crate::task::Socket;

/// Ann and Ben of one organization, and two global agents of Ben.
pub(crate) async fn house(world: &World) -> (TestUser, TestUser, [TestAgent; 2]) {
    let (ann, ben) = (world.colleague("ann", "house").await, world.colleague("ben", "house").await);
    let bots = [world.agent(&ben, "One").await, world.agent(&ben, "Two").await];
    for bot in &bots {
        world.make_global(bot).await;
    }
    (ann, ben, bots)
}

impl SocketClaim {
    /// The inbox of this socket.
    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
    }
}

fn clock() -> Arc<FixedClock> {
    Arc::new(FixedClock::at(Timestamp::from_micros(NOON)))
}

pub(crate) fn hub() -> Arc<Hub> {
    hub_with(HubConfig::default())
}

fn hub_with(config: HubConfig) -> Arc<Hub> {
    Hub::new(config, clock())
}

/// The names of the received events; `!` marks the end of a subscription.
pub(super) fn received(receiver: &mut Reader) -> Vec<String> {
    let mut all = Vec::new();
    for received in receiver {
        all.push(match received {
            InboxItem::Event(event) => event.payload.event.to_owned(),
            InboxItem::End { .. } => "!end".to_owned(),
            InboxItem::Superseded { .. } => "!superseded".to_owned(),
            InboxItem::Revoked => "!revoked".to_owned(),
            InboxItem::Stop => "!stop".to_owned(),
            InboxItem::Overflow => "!overflow".to_owned(),
        });
    }
    all
}

pub(crate) fn open(hub: &Arc<Hub>, caller: Caller) -> (SocketClaim, Reader) {
    hub.claim(caller, BARE, OnConflict::Supersede).map_err(|refused| format!("{refused:?}")).unwrap()
}

fn open_sockets(hub: &Hub) -> usize {
    let figures = hub.figures();
    figures.user_sockets + figures.agent_sockets
}

#[test]
fn agents_hear_only_what_is_addressed_to_them() {
    let hub = hub();
    let (addressed, mut addressed_inbox) = open(&hub, agent(1));
    let (other, mut other_inbox) = open(&hub, agent(2));
    let (human, mut human_inbox) = open(&hub, user(100));
    for claim in [&addressed, &other, &human] {
        claim.subscribe(Topic::ChatRoom(ROOM));
    }
    hub.publish(DomainEvent::MessageCreated { message: message(1, "hi"), recipients: vec![agent_id(1)] });
    hub.publish(DomainEvent::MessageUpdated { message: message(1, "hi") });
    hub.publish(DomainEvent::EventCreated { message: message(2, "hm") });
    assert_eq!(received(&mut addressed_inbox), ["message_created"]);
    assert_eq!(received(&mut other_inbox), Vec::<String>::new());
    assert_eq!(received(&mut human_inbox), ["message_created", "message_updated", "event_created"]);
}

/// Without them, nothing is noted; a mark counts only while rooms are read.
#[test]
fn rooms_are_noted_while_somebody_lists_them() {
    let hub = hub();
    let (claim, _inbox) = open(&hub, user(100));
    let me = user(100).participant().user().unwrap();
    let said = || hub.publish(DomainEvent::EventCreated { message: message(1, "hm") });
    let is_listed = || hub.listed_rooms.is_listed(me, ROOM);
    hub.list_rooms(me, [ROOM]);
    said();
    assert!(hub.take_changed_rooms().is_empty() && !is_listed(), "nobody listens");
    let topic = Topic::UserRooms(me);
    let first = claim.subscribe(topic);
    let second = claim.subscribe(topic);
    hub.list_rooms(me, [ROOM, ROOM]);
    assert!(is_listed() && !hub.has_human_subscribers(ROOM), "it needs no messages");
    said();
    said();
    let read = DomainEvent::RoomRead { by: me, chat_id: ROOM, unread: Unread::default() };
    assert_eq!(hub.take_changed_rooms(), HashMap::from([(me, vec![ROOM])]));
    hub.publish(read.clone());
    hub.changed_rooms_are_read();
    assert_eq!(hub.take_changed_rooms(), HashMap::from([(me, vec![ROOM])]), "what was read may be old");
    hub.changed_rooms_are_read();
    hub.publish(read);
    assert!(hub.take_changed_rooms().is_empty());
    claim.unsubscribe(topic, first);
    assert!(is_listed(), "it was replaced");
    hub.unlist_room(me, ROOM);
    assert!(!is_listed());
    hub.list_rooms(me, [ROOM]);
    claim.unsubscribe(topic, second);
    assert!(!is_listed());
}

/// A failed read is repeated for that human only, and a limited number of times.
#[test]
fn rooms_that_could_not_be_read_are_read_again() {
    let hub = hub();
    let sockets = [100, 101].map(|number| open(&hub, user(number)));
    for (claim, _) in &sockets {
        let user = claim.caller.participant().user().unwrap();
        claim.subscribe(Topic::UserRooms(user));
        hub.list_rooms(user, [ROOM]);
    }
    let of_ann = user(100).participant().user().unwrap();
    hub.note_changed_room(ROOM);
    assert_eq!(hub.take_changed_rooms().len(), 2);
    let again = HashMap::from([(of_ann, vec![ROOM])]);
    for _ in 1..listed_rooms::MAX_FAILURES {
        hub.note_unread_rooms(of_ann, &[ROOM]);
        assert_eq!(hub.take_changed_rooms(), again);
    }
    hub.note_unread_rooms(of_ann, &[ROOM]);
    assert!(hub.take_changed_rooms().is_empty());
    hub.note_unread_rooms(of_ann, &[ROOM]);
    hub.unlist_room(of_ann, ROOM);
    assert!(hub.take_changed_rooms().is_empty(), "it is gone");
}

/// The owner of an agent sees its rooms; a change of the participants changes the row of a room, too.
#[test]
fn rooms_of_agents_and_their_participants_are_noted() {
    let hub = hub();
    let (claim, _inbox) = open(&hub, user(100));
    let me = user(100).participant().user().unwrap();
    claim.subscribe(Topic::UserRooms(me));
    let (chat, to) = (testkit::bus::chat(ROOM), agent(1).participant());
    let people = participant(to);
    for event in [
        DomainEvent::RoomAdded { to, owner: Some(me), chat, role: Role::Member },
        DomainEvent::ParticipantAdded { chat_id: ROOM, participant: people.clone() },
        DomainEvent::ParticipantUpdated { chat_id: ROOM, participant: people.clone() },
        DomainEvent::RoomTitleChanged { chat_id: ROOM, title: "Plans".to_owned() },
        DomainEvent::ParticipantRemoved { chat_id: ROOM, participant: people },
    ] {
        hub.publish(event.clone());
        assert_eq!(hub.take_changed_rooms(), HashMap::from([(me, vec![ROOM])]), "{event:?}");
    }
}

/// Only admitted subscriptions of agents are listed; a socket with unread items is not idle.
#[test]
fn subscribed_agents_are_listed_for_redelivery() {
    let hub = hub_with(HubConfig { queue_bytes: 3 * 1024 * 1024, ..HubConfig::default() });
    let (claim, mut inbox) = open(&hub, agent(1));
    let (asked, _asked_inbox) = open(&hub, agent(2));
    let (human, mut human_inbox) = open(&hub, user(100));
    let topic = Topic::ChatRoom(ROOM);
    let entrance = Entrance { last_sequence: Sequence::new(41), ..Entrance::default() };
    let listed = || (0..hub.parts()).flat_map(|part| hub.listening(part)).collect::<Vec<_>>();
    let subscription = claim.subscribe(topic);
    asked.subscribe(topic);
    assert!(!hub.has_human_subscribers(ROOM), "no human listens");
    human.apply_access(topic, human.subscribe(topic), &entrance);
    claim.apply_access(
        Topic::RoomParticipants(ROOM),
        claim.subscribe(Topic::RoomParticipants(ROOM)),
        &entrance,
    );
    assert!(hub.has_human_subscribers(ROOM) && !hub.has_human_subscribers(ChatId::new(Uuid::from_u128(77))));
    assert!(listed().is_empty(), "it is not known yet who may listen");
    claim.apply_access(topic, subscription, &entrance);
    let (agent, since) = (agent_id(1), entrance.last_sequence);
    let joined_at = Timestamp::from_micros(NOON);
    let listening = Listening { subscription, agent, chat: ROOM, since, joined_at };
    let [one] = listed()[..] else { panic!("{:?}", listed()) };
    assert_eq!((one.listening, one.is_idle), (listening, true));

    assert_eq!(redeliver(&hub, &listening, &message(42, "again")), Pushed::Queued);
    assert!(!listed()[0].is_idle, "it has not read that yet");
    assert_eq!(redeliver(&hub, &listening, &message(43, &"\u{1}".repeat(300_000))), Pushed::TooLarge);
    let borderline = "x".repeat(payload::MAX_AGENT_BYTES - payload::MAX_FRAME_BYTES);
    assert_eq!(redeliver(&hub, &listening, &message(44, &borderline)), Pushed::MaybeQueued);
    assert_eq!(redeliver(&hub, &listening, &message(45, &borderline)), Pushed::Unavailable, "enough waits");
    assert_eq!(received(&mut inbox), ["message_created", "message_created"]);
    assert_eq!(received(&mut human_inbox), Vec::<String>::new());
    claim.acknowledgements().unwrap().record(message(46, "").id, 100);
    assert_eq!(redeliver(&hub, &listening, &message(46, "again")), Pushed::Acknowledged);
    claim.unsubscribe(topic, subscription);
    claim.apply_access(topic, claim.subscribe(topic), &entrance);
    assert_eq!(
        redeliver(&hub, &listening, &message(47, "again")),
        Pushed::Unavailable,
        "that subscription is over"
    );
}

#[test]
fn a_text_that_no_agent_client_could_take_is_left_to_the_store() {
    let hub = hub();
    let (claim, mut inbox) = open(&hub, agent(1));
    claim.subscribe(Topic::ChatRoom(ROOM));
    let large = message(1, &"\u{1}".repeat(300_000));
    hub.publish(DomainEvent::MessageCreated { message: large, recipients: vec![agent_id(1)] });
    assert_eq!(received(&mut inbox), Vec::<String>::new());
}

#[test]
fn a_removed_participant_hears_of_it_and_then_nothing() {
    let hub = hub();
    let (removed, mut removed_inbox) = open(&hub, agent(1));
    let (human, mut human_inbox) = open(&hub, user(100));
    for claim in [&removed, &human] {
        claim.subscribe(Topic::ChatRoom(ROOM));
        claim.subscribe(Topic::RoomParticipants(ROOM));
    }
    let participant = participant(agent(1).participant());
    hub.publish(DomainEvent::ParticipantRemoved { chat_id: ROOM, participant });
    hub.publish(DomainEvent::MessageCreated { message: message(1, "hi"), recipients: vec![agent_id(1)] });
    assert_eq!(received(&mut removed_inbox), ["participant_removed", "!end", "!end"]);
    assert_eq!(received(&mut human_inbox), ["participant_removed", "message_created"]);
    hub.publish(DomainEvent::RoomDeleted { chat_id: ROOM });
    hub.publish(DomainEvent::MessageUpdated { message: message(1, "hi") });
    assert_eq!(received(&mut human_inbox), ["room_deleted", "!end", "!end"]);
    assert_eq!(received(&mut removed_inbox), Vec::<String>::new());
}

/// For the owner of agents 1 and 2, whose join is answered as if only agent 1 were a participant.
#[test]
fn changes_of_participants_during_a_join_count() {
    let topic = Topic::ChatRoom(ROOM);
    let came = |who: Caller| {
        let owner = who.participant().agent().map(|_| UserId::new(Uuid::from_u128(100)));
        let participant = Participant { owner, ..participant(who.participant()) };
        DomainEvent::ParticipantAdded { chat_id: ROOM, participant }
    };
    let left = |who: Caller| DomainEvent::ParticipantRemoved {
        chat_id: ROOM,
        participant: participant(who.participant()),
    };
    let (one, two, ann) = (agent(1), agent(2), user(100));
    for (meanwhile, afterwards, stays) in [
        (vec![], vec![left(one)], false),
        (vec![came(two)], vec![left(one)], true),
        (vec![came(two)], vec![left(one), left(two)], false),
        (vec![came(two), left(one)], vec![], true),
        (vec![left(one), came(one)], vec![], true),
        (vec![left(one), came(one), left(one)], vec![], false),
        (vec![came(ann)], vec![left(one)], true),
        (vec![came(ann), left(one)], vec![left(ann)], false),
    ] {
        let shown = format!("{meanwhile:?}, then {afterwards:?}");
        let hub = hub();
        let (claim, mut inbox) = open(&hub, ann);
        let subscription = claim.subscribe(topic);
        for event in meanwhile {
            hub.publish(event);
        }
        let standing = Standing { own: None, agents: vec![(agent_id(1), Role::Member)] };
        claim.apply_access(topic, subscription, &Entrance { standing, ..Entrance::default() });
        for event in afterwards {
            hub.publish(event);
        }
        assert_eq!(hub.has_human_subscribers(ROOM), stays, "{shown}");
        assert_eq!(received(&mut inbox).is_empty(), stays, "{shown}");
    }
}

#[test]
fn a_second_subscription_ends_only_the_first() {
    let hub = hub();
    let (claim, mut inbox) = open(&hub, user(100));
    let first = claim.subscribe(Topic::RoomActivity(ROOM));
    let second = claim.subscribe(Topic::RoomActivity(ROOM));
    claim.unsubscribe(Topic::RoomActivity(ROOM), first);
    let activity = AgentActivity { agent: agent_id(1), execution: None, working: true, doing: None };
    hub.publish(DomainEvent::ActivityChanged { chat_id: ROOM, activity: activity.clone() });
    assert_eq!(received(&mut inbox), ["agent_activity_started"]);
    claim.unsubscribe(Topic::RoomActivity(ROOM), second);
    hub.publish(DomainEvent::ActivityChanged { chat_id: ROOM, activity });
    assert_eq!(received(&mut inbox), Vec::<String>::new());
    assert_eq!(hub.figures().topics, 0, "nothing is left behind");
}

#[test]
fn a_hundred_connects_at_once_leave_one_socket() {
    let hub = hub();
    let claims = std::thread::scope(|scope| {
        let threads = (0..100).map(|_| scope.spawn(|| open(&hub, agent(1)))).collect::<Vec<_>>();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let (mut alive, mut superseded) = (0, 0);
    for (claim, mut inbox) in claims {
        match received(&mut inbox).as_slice() {
            [] => {
                alive += 1;
                std::mem::forget(claim);
            }
            [one] if one == "!superseded" => superseded += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((alive, superseded), (1, 99));
    assert_eq!(open_sockets(&hub), 1);
    assert!(hub.claim(agent(1), BARE, OnConflict::Reject).is_err(), "the one alive still holds the place");
}

#[test]
fn a_rejecting_socket_is_refused_while_another_is_open() {
    let hub = hub();
    let (claim, mut inbox) = open(&hub, agent(1));
    assert_eq!(hub.claim(agent(1), BARE, OnConflict::Reject).map(|_| ()), Err(ClaimRefused::Conflict));
    assert_eq!(received(&mut inbox), Vec::<String>::new());
    claim.release(Departure::Closed);
    assert!(hub.claim(agent(1), BARE, OnConflict::Reject).is_ok());
}

#[test]
fn a_superseded_socket_that_ends_late_keeps_the_newer_one() {
    let hub = hub();
    let (older, _) = open(&hub, agent(1));
    let (_newer, _inbox) = open(&hub, agent(1));
    drop(older);
    assert_eq!(hub.claim(agent(1), BARE, OnConflict::Reject).map(|_| ()), Err(ClaimRefused::Conflict));
}

#[test]
fn users_have_a_limited_number_of_sockets() {
    let hub = hub_with(HubConfig { max_sockets_per_caller: 2, ..HubConfig::default() });
    let (first, _) = open(&hub, user(1));
    let (_second, _inbox) = open(&hub, user(1));
    assert_eq!(hub.claim(user(1), BARE, OnConflict::Supersede).map(|_| ()), Err(ClaimRefused::TooMany));
    assert!(hub.claim(user(2), BARE, OnConflict::Supersede).is_ok());
    drop(first);
    assert!(hub.claim(user(1), BARE, OnConflict::Supersede).is_ok());
}

/// A connection counts until it is dropped, even if its socket has ended.
#[test]
fn connections_count_for_as_long_as_they_live() {
    for caller in [user(1), agent(1)] {
        let hub = hub_with(HubConfig { max_sockets_per_caller: 2, ..HubConfig::default() });
        let quotas = (0..2).map(|_| open(&hub, caller).0.permit.take()).collect::<Vec<_>>();
        assert_eq!(open_sockets(&hub), 0);
        assert_eq!(hub.claim(caller, BARE, OnConflict::Supersede).map(|_| ()), Err(ClaimRefused::TooMany));
        assert!(hub.claim(user(2), BARE, OnConflict::Supersede).is_ok());
        drop(quotas);
        assert!(hub.claim(caller, BARE, OnConflict::Supersede).is_ok());
    }
}

#[test]
fn a_client_that_does_not_read_is_disconnected_at_the_limit() {
    let hub = hub_with(HubConfig { queue_bytes: 100_000, ..HubConfig::default() });
    let (claim, mut inbox) = open(&hub, user(100));
    claim.subscribe(Topic::ChatRoom(ROOM));
    for sequence in 0..100 {
        let message = message(sequence, &"x".repeat(10_000));
        hub.publish(DomainEvent::MessageCreated { message, recipients: Vec::new() });
    }
    let received = received(&mut inbox);
    assert!(received.len() < 11, "{}", received.len());
    assert_eq!(received.iter().filter(|received| *received == "!overflow").count(), 1);
    assert_eq!(received.last().map(String::as_str), Some("!overflow"));
}

#[test]
fn stopping_ends_all_and_takes_no_more() {
    let hub = hub();
    let (_claim, mut inbox) = open(&hub, user(1));
    hub.shut_down();
    assert_eq!(received(&mut inbox), ["!stop"]);
    assert_eq!(hub.claim(user(1), BARE, OnConflict::Supersede).map(|_| ()), Err(ClaimRefused::Stopping));
}

#[test]
fn ending_the_sockets_leaves_the_hub_open() {
    let hub = hub();
    let (_one, mut one) = open(&hub, agent(1));
    let (_other, mut other) = open(&hub, user(1));
    hub.end_sockets();
    assert_eq!(
        (received(&mut one), received(&mut other)),
        (vec!["!stop".to_owned()], vec!["!stop".to_owned()])
    );
    let (_again, mut inbox) = open(&hub, agent(1));
    hub.end_sockets();
    assert_eq!(received(&mut inbox), ["!stop"], "also those that came since");
}

/// However a socket ends, including a task that is dropped midway.
#[actix_web::test]
async fn a_socket_that_is_dropped_leaves_nothing_behind() {
    let hub = hub();
    let world = testkit::World::with_publisher(clock(), hub.clone());
    let (claim, inbox) = open(&hub, user(100));
    let mut machine = Machine::new(Version::V2, user(100), 10);
    for topic in [Topic::UserRooms(UserId::new(Uuid::from_u128(100))), Topic::ChatRoom(ROOM)] {
        let name = match topic {
            Topic::ChatRoom(chat) => format!("chat_room:{chat}"),
            _ => format!("user_rooms:{}", Uuid::from_u128(100)),
        };
        let join = format!(r#"["1","1","{name}","phx_join",{{}}]"#);
        let Some(Action::Authorize(join)) = machine.on_text(&join).pop() else { panic!("{name}") };
        let decision =
            JoinDecision::Granted { response: "{}".to_owned(), subscription: claim.subscribe(topic) };
        machine.on_decision(join, decision);
    }
    let outbox = Outbox::new(machine, inbox, None);
    let context = SocketContext {
        hub: hub.clone(),
        accounts: world.accounts.clone(),
        tokens: world.tokens.clone(),
        chats: world.chats.clone(),
        activity: world.activity.clone(),
    };
    assert_eq!((hub.figures().listeners, open_sockets(&hub)), (2, 1));
    drop(Socket { context: Data::new(context), claim, outbox, version: Version::V2 });
    assert_eq!((hub.figures().listeners, open_sockets(&hub)), (0, 0));
}
