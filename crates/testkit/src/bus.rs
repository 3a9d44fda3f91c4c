//! A bus between nodes of one process, which loses, repeats and mixes up what the test wants.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;
use domain::account::{Presented, PresentedToken};
use domain::bus::{Address, Answer, EventBus, Interest, KnownNodes, OwnInterests, PeerMessage, Seen};
use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::chat::{Chat, ChatKind, ChatStatus, Named, Participant, ParticipantStatus, Role};
use domain::delivery::Claims;
use domain::event::DomainEvent;
use domain::id::{AgentId, ChatId, MessageId, NodeId, OrganizationId, ParticipantId, Sequence, UserId};
use domain::message::{Message, MessageKind, NewMessage};
use domain::ports::{Clock, EventPublisher};
use domain::time::Timestamp;
use uuid::Uuid;

use crate::FixedClock;

/// A room.
pub const ROOM: ChatId = ChatId::new(Uuid::from_u128(1));

const HOUSE: OrganizationId = OrganizationId::new(Uuid::from_u128(2));

/// A token of a user without a password.
pub const BARE: Presented = Presented::Token(PresentedToken {
    user: UserId::new(Uuid::nil()),
    password_set_at: None,
    session: None,
    expires_at: None,
});

/// What carries messages between nodes: only when the test lets it.
#[derive(Default)]
pub struct Wire {
    nodes: Mutex<Vec<Arc<MemoryBus>>>,
    under_way: Mutex<Vec<Parcel>>,
}

/// A message on its way to one node.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// Who has sent it.
    pub from: NodeId,
    /// Who is to get it.
    pub to: NodeId,
    /// What it is.
    pub load: Load,
}

/// What is on its way.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a test has a few of them")]
pub enum Load {
    /// An event, with its number.
    Event(u64, DomainEvent),
    /// What a node tells of itself.
    PeerMessage(PeerMessage),
}

/// The end of a node.
pub struct MemoryBus {
    node: NodeId,
    wire: Arc<Wire>,
    clock: Arc<FixedClock>,
    peers: Mutex<KnownNodes>,
    own: Mutex<OwnInterests>,
    seen: Mutex<Seen>,
    numbers: AtomicU64,
    into: OnceLock<Arc<dyn EventPublisher>>,
}

impl Wire {
    /// A node more, which hears the others from now on.
    pub fn join(self: &Arc<Self>, clock: &Arc<FixedClock>) -> Arc<MemoryBus> {
        let mut nodes = lock(&self.nodes);
        let node = NodeId::new(Uuid::from_u128(nodes.len() as u128 + 1));
        let bus = Arc::new(MemoryBus {
            node,
            wire: self.clone(),
            clock: clock.clone(),
            peers: Mutex::new(KnownNodes::new(node, clock.now())),
            own: Mutex::default(),
            seen: Mutex::default(),
            numbers: AtomicU64::new(1),
            into: OnceLock::new(),
        });
        nodes.push(bus.clone());
        bus
    }

    /// How many events are on their way.
    pub fn events_under_way(&self) -> usize {
        let under_way = lock(&self.under_way);
        under_way.iter().filter(|parcel| matches!(parcel.load, Load::Event(..))).count()
    }

    /// Delivers all that is on its way, and what that leads to.
    pub fn deliver(&self) {
        self.deliver_as(|parcels| parcels);
    }

    /// Delivers what `fate` makes of it, until nothing is on its way any more.
    pub fn deliver_as(&self, mut fate: impl FnMut(Vec<Parcel>) -> Vec<Parcel>) {
        loop {
            let parcels = std::mem::take(&mut *lock(&self.under_way));
            if parcels.is_empty() {
                return;
            }
            for parcel in fate(parcels) {
                let to = lock(&self.nodes).iter().find(|bus| bus.node == parcel.to).cloned();
                if let Some(bus) = to {
                    bus.take(parcel.from, parcel.load);
                }
            }
        }
    }

    /// A second passes for every node: each says that it is there, and notices who is not.
    pub fn beat(&self) {
        let nodes = lock(&self.nodes).clone();
        for bus in nodes {
            let now = bus.clock.now();
            let over = lock(&bus.own).over(now);
            let changed = lock(&bus.own).changed(&[], &over, usize::MAX);
            for message in changed {
                bus.send(&message);
            }
            lock(&bus.peers).expire(now);
            let here = lock(&bus.own).here();
            bus.send(&here);
        }
    }

    /// A node is not there any more, and has not said so.
    pub fn kill(&self, bus: &MemoryBus) {
        lock(&self.nodes).retain(|other| other.node != bus.node);
    }

    fn send(&self, from: NodeId, takes: impl Fn(&MemoryBus) -> bool, load: &Load) {
        let nodes = lock(&self.nodes).clone();
        for bus in nodes.iter().filter(|bus| bus.node != from && takes(bus)) {
            lock(&self.under_way).push(Parcel { from, to: bus.node, load: load.clone() });
        }
    }
}

impl MemoryBus {
    /// What comes from other nodes goes here.
    pub fn publish_to(&self, into: Arc<dyn EventPublisher>) {
        let _ = self.into.set(into);
    }

    fn take(&self, from: NodeId, load: Load) {
        let now = self.clock.now();
        match load {
            Load::Event(number, event) => {
                if lock(&self.seen).is_first(from, number, now) {
                    self.into.get().expect("the node is there").publish(event);
                }
            }
            Load::PeerMessage(message) => {
                let answer = lock(&self.peers).hear(from, message, now);
                match answer {
                    Some(Answer::Tell) => {
                        let whole = lock(&self.own).whole(usize::MAX);
                        for part in &whole {
                            self.send(part);
                        }
                    }
                    Some(Answer::Ask(other)) => self.send(&PeerMessage::AskInterests { of: Some(other) }),
                    None => {}
                }
            }
        }
    }

    fn send(&self, message: &PeerMessage) {
        self.wire.send(self.node, |_| true, &Load::PeerMessage(message.clone()));
    }
}

#[async_trait]
impl EventBus for MemoryBus {
    fn is_wanted(&self, interest: Interest) -> bool {
        lock(&self.peers).want(interest)
    }

    fn has_others(&self) -> bool {
        lock(&self.peers).are_there()
    }

    fn send(&self, to: &[Address], event: &DomainEvent) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let load = Load::Event(number, event.clone());
        for address in to {
            self.wire.send(self.node, |bus| lock(&bus.own).take(*address), &load);
        }
    }

    fn begin(&self, interest: Interest) {
        if lock(&self.own).begin(interest) {
            let messages = lock(&self.own).changed(&[interest], &[], usize::MAX);
            for message in messages {
                self.send(&message);
            }
        }
    }

    fn end(&self, interest: Interest) {
        lock(&self.own).end(interest, self.clock.now());
    }

    async fn settled(&self) {}
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A room as events carry it.
pub fn chat(id: ChatId) -> Chat {
    let at = Timestamp::from_micros(crate::NOON);
    Chat {
        id,
        title: Some("Plans".to_owned()),
        task_id: None,
        kind: ChatKind::Group,
        status: ChatStatus::Active,
        created_at: at,
        updated_at: at,
        last_message_at: Some(at),
        respond_within: None,
        max_hops: None,
    }
}

/// A text of user 100 in [`ROOM`], as events carry it.
pub fn message(sequence: i64, content: &str) -> Message {
    let at = Timestamp::from_micros(0);
    let id = MessageId::new(Uuid::from_u128(1000 + u128::from(sequence.unsigned_abs())));
    let sender = user(100).participant();
    let ann = Named { id: sender, handle: "ann".to_owned(), name: "Ann".to_owned(), is_external: None };
    NewMessage::new(id, ROOM, ann, MessageKind::Text, content.to_owned(), at)
        .into_message(Sequence::new(sequence), at)
}

/// A participant, as events carry it.
pub fn participant(id: ParticipantId) -> Participant {
    Participant {
        id,
        name: "Bot".to_owned(),
        handle: "ann/bot".to_owned(),
        description: None,
        is_external: None,
        owner: None,
        role: Role::Member,
        status: ParticipantStatus::Active,
        joined_at: Timestamp::from_micros(0),
    }
}

/// A user with this number.
pub fn user(number: u128) -> Caller {
    Caller::User(UserCaller { user: UserId::new(Uuid::from_u128(number)), organization: HOUSE })
}

/// The id of [`agent`].
pub fn agent_id(number: u128) -> AgentId {
    AgentId::new(Uuid::from_u128(number))
}

/// An agent of user 100 with this number.
pub fn agent(number: u128) -> Caller {
    let owner = UserId::new(Uuid::from_u128(100));
    Caller::Agent(AgentCaller { agent: agent_id(number), owner, organization: HOUSE, claims: Claims::Shared })
}
