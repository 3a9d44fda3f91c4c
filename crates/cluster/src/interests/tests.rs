//! Two nodes joined by a bus that loses, repeats, and reorders messages.

use std::sync::Arc;
use std::time::Duration;

use domain::bus::{EventBus, Interest, SharedEvents};
use domain::caller::Caller;
use domain::chat::Role;
use domain::event::DomainEvent;
use domain::id::{ApiKeyId, ChatId, NodeId};
use domain::ports::EventPublisher;
use domain::time::Timestamp;
use testkit::bus::{Load, MemoryBus, ROOM, Wire, agent, agent_id, message, participant, user};
use testkit::{FixedClock, NOON};
use uuid::Uuid;
use ws_gateway::inbox::Reader;
use ws_gateway::topic::Topic;
use ws_gateway::{Hub, HubConfig, SocketClaim};

use crate::tests::{open, received};

/// The topics of a chat that agents join.
const TOPICS: [Topic; 2] = [Topic::ChatRoom(ROOM), Topic::RoomParticipants(ROOM)];

struct Node {
    local: Arc<crate::LocalNode>,
    hub: Arc<Hub>,
    bus: Arc<MemoryBus>,
    events: SharedEvents,
}

struct Pair {
    wire: Arc<Wire>,
    clock: Arc<FixedClock>,
    one: Node,
    two: Node,
}

fn node(wire: &Arc<Wire>, clock: &Arc<FixedClock>) -> Node {
    let bus = wire.join(clock);
    let local = crate::LocalNode::new(NodeId::new(Uuid::nil()), Some(bus.clone()));
    let hub = Hub::in_cluster(HubConfig::default(), clock.clone(), local.clone());
    bus.publish_to(hub.clone());
    Node { local, events: SharedEvents::new(hub.clone(), bus.clone()), hub, bus }
}

impl Pair {
    /// Both nodes have the interests of the other.
    fn new() -> Self {
        let clock = Arc::new(FixedClock::at(Timestamp::from_micros(NOON)));
        let wire = Arc::<Wire>::default();
        let (one, two) = (node(&wire, &clock), node(&wire, &clock));
        let pair = Self { wire, clock, one, two };
        pair.seconds(3);
        pair
    }

    fn seconds(&self, number: u64) {
        for _ in 0..number {
            self.clock.advance(Duration::from_secs(1));
            self.wire.beat();
            self.wire.deliver();
        }
    }
}

/// A socket that is subscribed to the chat.
async fn listen(node: &Node, caller: Caller) -> (SocketClaim, Reader) {
    let (claim, reader) = open(&node.local, &node.hub, caller).await;
    for topic in TOPICS {
        claim.subscribe(topic);
    }
    (claim, reader)
}

fn sent(number: i64) -> DomainEvent {
    DomainEvent::MessageCreated { message: message(number, "hi"), recipients: vec![agent_id(1)] }
}

fn noted(number: i64) -> DomainEvent {
    DomainEvent::EventCreated { message: message(number, "hm") }
}

#[tokio::test]
async fn events_reach_the_sockets_of_another_node() {
    let two = Pair::new();
    let (_agent, mut of_agent) = listen(&two.two, agent(1)).await;
    let (_human, mut of_human) = listen(&two.one, user(100)).await;
    two.wire.deliver();
    two.one.events.publish(sent(1));
    assert_eq!(received(&mut of_human), ["message_created"], "the own sockets hear at once");
    assert!(received(&mut of_agent).is_empty());
    two.wire.deliver();
    assert_eq!(received(&mut of_agent), ["message_created"]);
    assert!(received(&mut of_human).is_empty(), "nothing comes back");
    let participant = participant(agent(1).participant());
    two.one.events.publish(DomainEvent::ParticipantRemoved { chat_id: ROOM, participant });
    two.wire.deliver();
    assert_eq!(received(&mut of_agent), ["participant_removed", "!end", "!end"]);
}

/// The owner sees the room through the agent.
#[tokio::test]
async fn rooms_of_an_agent_are_listed_for_its_owner_elsewhere() {
    let two = Pair::new();
    let (human, _of_human) = open(&two.one.local, &two.one.hub, user(100)).await;
    let owner = user(100).participant().user();
    human.subscribe(Topic::UserRooms(owner.unwrap()));
    two.wire.deliver();
    two.two.events.publish(noted(1));
    assert_eq!(two.wire.events_under_way(), 0, "it is not known yet");
    let (to, chat) = (agent(1).participant(), testkit::bus::chat(ROOM));
    two.two.events.publish(DomainEvent::RoomAdded { to, owner, chat, role: Role::Owner });
    two.wire.deliver();
    two.wire.deliver();
    two.two.events.publish(noted(2));
    assert_eq!(two.wire.events_under_way(), 1);
}

#[tokio::test]
async fn events_without_interest_are_not_sent() {
    let two = Pair::new();
    let (_human, _of_human) = listen(&two.one, user(100)).await;
    let (agent, _of_agent) = listen(&two.two, agent(1)).await;
    two.wire.deliver();
    two.one.events.publish(noted(1));
    assert_eq!(two.wire.events_under_way(), 0, "only agents listen there");
    assert!(!two.two.events.has_human_subscribers(ChatId::new(Uuid::from_u128(77))));
    assert!(two.two.events.has_human_subscribers(ROOM), "a human listens elsewhere");
    two.two.events.publish(noted(2));
    assert_eq!(two.wire.events_under_way(), 1);
    two.wire.deliver();
    // Another subscription ends the earlier one; its end comes last.
    for topic in TOPICS {
        let ticket = agent.subscribe(topic);
        agent.unsubscribe(topic, ticket);
    }
    two.seconds(4);
    assert!(two.one.bus.is_wanted(Interest::Room(ROOM)), "most come back within a moment");
    two.seconds(2);
    two.one.events.publish(sent(3));
    assert_eq!(two.wire.events_under_way(), 0, "nobody listens there any more");
    let key = ApiKeyId::new(Uuid::from_u128(5));
    two.one.events.publish(DomainEvent::KeyRevoked { key });
    assert_eq!(two.wire.events_under_way(), 1, "every node has to know");
    two.wire.deliver();
    two.wire.kill(&two.two.bus);
    two.seconds(6);
    two.one.events.publish(DomainEvent::KeyRevoked { key });
    assert_eq!(two.wire.events_under_way(), 0, "there is no other node");
}

#[tokio::test]
async fn the_last_of_many_listeners_ends_the_interest() {
    let two = Pair::new();
    let topics = [Topic::ChatRoom(ROOM), Topic::RoomActivity(ROOM)];
    let (first, _first) = open(&two.two.local, &two.two.hub, user(100)).await;
    let (second, _second) = open(&two.two.local, &two.two.hub, user(101)).await;
    let tickets = topics.map(|topic| (first.subscribe(topic), second.subscribe(topic)));
    // A second subscription adds no interest.
    let again = first.subscribe(topics[0]);
    two.wire.deliver();
    let wanted = || [Interest::Room(ROOM), Interest::RoomAsHuman(ROOM)].map(|one| two.one.bus.is_wanted(one));
    first.unsubscribe(topics[0], again);
    first.unsubscribe(topics[1], tickets[1].0);
    second.unsubscribe(topics[1], tickets[1].1);
    two.seconds(6);
    assert_eq!(wanted(), [true, true]);
    second.unsubscribe(topics[0], tickets[0].1);
    two.seconds(6);
    assert_eq!(wanted(), [false, false]);
}

#[tokio::test]
async fn duplicated_and_reordered_events_are_pushed_once() {
    let two = Pair::new();
    let (_human, mut of_human) = listen(&two.two, user(100)).await;
    two.wire.deliver();
    for number in 1..=5 {
        two.one.events.publish(sent(number));
    }
    two.wire.deliver_as(|mut parcels| {
        parcels.extend(parcels.clone());
        parcels.reverse();
        parcels
    });
    assert_eq!(received(&mut of_human).len(), 5);
}

/// Missed interests of another node are detected by its next heartbeat; until then everything is
/// sent.
#[tokio::test]
async fn lost_interests_are_requested_again() {
    let two = Pair::new();
    let (_human, mut of_human) = listen(&two.two, user(100)).await;
    two.wire.deliver_as(|_| Vec::new());
    two.one.events.publish(sent(1));
    assert_eq!(two.wire.events_under_way(), 0, "nobody has heard of it");
    two.clock.advance(Duration::from_secs(1));
    two.wire.beat();
    // The heartbeat arrives, but the request that follows it does not yet.
    let mut first = true;
    two.wire.deliver_as(|parcels| if std::mem::take(&mut first) { parcels } else { Vec::new() });
    two.one.events.publish(sent(2));
    two.wire.deliver();
    assert_eq!(received(&mut of_human), ["message_created"], "there may be somebody");
    assert!(two.one.bus.is_wanted(Interest::Room(ChatId::new(Uuid::from_u128(77)))));
    two.seconds(1);
    assert!(!two.one.bus.is_wanted(Interest::Room(ChatId::new(Uuid::from_u128(77)))));
    assert!(two.one.bus.is_wanted(Interest::RoomAsHuman(ROOM)));
}

/// Whatever is lost, each received event was published, and none is received twice.
#[tokio::test]
async fn a_bus_that_loses_half_breaks_nothing() {
    let two = Pair::new();
    let (_human, mut of_human) = listen(&two.two, user(100)).await;
    let mut number = 0_u32;
    let mut every_other = |parcels: Vec<testkit::bus::Parcel>| {
        let mut kept = Vec::new();
        for parcel in parcels {
            number += 1;
            if !(matches!(parcel.load, Load::Event(..)) && number.is_multiple_of(2)) {
                kept.push(parcel);
            }
        }
        kept
    };
    for sequence in 1..=100 {
        two.one.events.publish(sent(sequence));
        two.wire.deliver_as(&mut every_other);
    }
    let heard = received(&mut of_human).len();
    assert!((40..=60).contains(&heard), "{heard}");
}
