//! The hub: connected sockets, their subscriptions, and the fan-out of events.
//!
//! `Hub::publish` is called after the commit and in commit order, by one thread. It puts the
//! event into the inbox of every subscribed socket that may see it, and never waits for a socket.

mod basis;
mod claim;
mod delivered;
mod drain;
mod figures;
mod interest;
mod listeners;
mod listening;
mod open;
mod presence;
mod publish;
mod quotas;
mod recent_joins;
mod remote_events;
mod remote_presence;
mod revalidate;
mod revoke;
mod watch;

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use domain::account::Presented;
use domain::caller::Caller;
use domain::chat::Participant;
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::message::Message;
use domain::node::SocketNumber;
use domain::ports::Clock;

use crate::claim_queue::ClaimQueue;
use crate::inbox::{Inbox, Payload, Reader, SocketCommand, Ticket};
use crate::payload;
use crate::receipts::ReceiptBuffer;
use crate::topic::Topic;
use basis::{BasisChange, SubscriptionBasis};
use interest::{Held, Interests};
use listeners::Listeners;
use presence::Sockets;
use quotas::{CallerQuotas, TopicSlot};
use recent_joins::RecentJoins;
use remote_events::StaleChats;
use revalidate::Revalidation;
use watch::Watch;

pub(crate) use claim::{ClaimRefused, SocketClaim};
pub(crate) use domain::node::OnConflict;
pub use figures::Figures;
pub(crate) use listening::Pushed;
pub(crate) use presence::Departure;
pub(crate) use quotas::ConnectionSlot;
pub use remote_events::RemoteEventSink;
pub(crate) use watch::Person;

/// The number of locks over which topics, users, and agents are sharded.
const SHARDS: usize = 32;

/// Limits of a socket.
#[derive(Clone, Copy, Debug)]
pub struct HubConfig {
    /// The time without input after which a socket is closed.
    pub idle_timeout: Duration,
    /// The maximum number of bytes that are queued for one client. It should hold three of the
    /// largest message: one that the client is reading, one that is queued, and one that arrives.
    pub queue_bytes: usize,
    /// The maximum number of topics per socket.
    pub max_topics: usize,
    /// The approximate maximum number of topics of all sockets of one caller.
    pub max_topics_per_caller: usize,
    /// The maximum number of connections of one caller, including closed ones that have not been
    /// read to the end. An agent has one live socket.
    pub max_sockets_per_caller: usize,
}

impl Default for HubConfig {
    fn default() -> Self {
        Self {
            idle_timeout: Duration::from_secs(60),
            queue_bytes: 10 * 1024 * 1024,
            max_topics: 10_000,
            max_topics_per_caller: 50_000,
            max_sockets_per_caller: 1_000,
        }
    }
}

/// Identifies a socket during the life of the process.
type SocketId = u64;

/// The sockets of this process.
pub struct Hub {
    config: HubConfig,
    hasher: RandomState,
    shards: Vec<Mutex<HashMap<Topic, Listeners>>>,
    sockets: Mutex<Sockets>,
    quotas: Mutex<CallerQuotas>,
    turns: Vec<Mutex<()>>,
    watch: Mutex<Watch>,
    clock: Arc<dyn Clock>,
    numbers: AtomicU64,
    receipts: Arc<ReceiptBuffer>,
    /// Queues the changes for the store, if this server is one of several.
    claim_queue: OnceLock<Arc<ClaimQueue>>,
    counts: figures::Counts,
    stopping: AtomicBool,
    /// Set if the server is one of several.
    interests: OnceLock<Arc<Interests>>,
    /// Chats whose participants have changed according to other nodes.
    stale_chats: StaleChats,
    recent_joins: Mutex<RecentJoins>,
    /// Held during a revalidation.
    revalidating: tokio::sync::Mutex<()>,
    revalidation: Mutex<Revalidation>,
}

struct Listener {
    who: ParticipantId,
    ticket: Ticket,
    inbox: Inbox,
    basis: SubscriptionBasis,
    _topic: TopicSlot,
    _held: Held,
}

impl Hub {
    /// Makes a hub without sockets; `clock` measures how long a caller has been disconnected.
    pub fn new(config: HubConfig, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            config,
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            sockets: Mutex::default(),
            quotas: Mutex::default(),
            turns: (0..SHARDS).map(|_| Mutex::default()).collect(),
            watch: Mutex::default(),
            clock,
            numbers: AtomicU64::new(1),
            receipts: Arc::default(),
            claim_queue: OnceLock::new(),
            counts: figures::Counts::default(),
            stopping: AtomicBool::new(false),
            interests: OnceLock::new(),
            stale_chats: StaleChats::default(),
            recent_joins: Mutex::default(),
            revalidating: tokio::sync::Mutex::default(),
            revalidation: Mutex::default(),
        })
    }

    /// The limits of sockets.
    pub fn config(&self) -> &HubConfig {
        &self.config
    }

    /// The number of open sockets.
    pub fn socket_count(&self) -> usize {
        self.sockets().inboxes.len()
    }

    /// Closes every open socket, so that its client reconnects and joins again what it still may:
    /// for a commit whose outcome is unknown. New sockets are accepted.
    pub fn end_sockets(&self) {
        self.sockets().inboxes.values().for_each(|inbox| inbox.order(SocketCommand::Stop));
    }

    /// Opens a socket for the caller, who presented `presented`. An agent has one live socket: the
    /// older one is superseded in the same step.
    pub(crate) fn claim(
        self: &Arc<Self>,
        caller: Caller,
        presented: Presented,
        on_conflict: OnConflict,
    ) -> Result<(SocketClaim, Reader), ClaimRefused> {
        let slot = self.slot(caller.participant())?;
        self.admit(caller, presented, on_conflict, slot, None)
    }

    /// Opens a socket that has a connection slot. For an agent on one of several nodes, the store
    /// has granted the claim under this number.
    fn admit(
        self: &Arc<Self>,
        caller: Caller,
        presented: Presented,
        on_conflict: OnConflict,
        slot: ConnectionSlot,
        granted: Option<SocketNumber>,
    ) -> Result<(SocketClaim, Reader), ClaimRefused> {
        let (id, who) = (self.number(), caller.participant());
        let turn = self.turn(who);
        let mut sockets = self.sockets();
        self.may_enter(&sockets, caller, presented)?;
        let is_news = match caller {
            Caller::User(user) => {
                let open = sockets.users.get(&user.user).copied().unwrap_or_default();
                let is_news = sockets.arrive(who);
                sockets.users.insert(user.user, open + 1);
                if open == 0 {
                    self.note(who);
                }
                is_news
            }
            Caller::Agent(agent) => {
                if on_conflict == OnConflict::Reject && sockets.agents.contains_key(&agent.agent) {
                    return Err(ClaimRefused::Conflict);
                }
                // Changes that followed the grant may have arrived before this point.
                if granted.is_some_and(|number| sockets.remote.has_newer(agent.agent, number)) {
                    return Err(ClaimRefused::Conflict);
                }
                let is_news = sockets.arrive(who);
                if let Some(number) = granted {
                    sockets.remote.forget(who);
                    sockets.numbers.insert(agent.agent, number);
                }
                let older = sockets.agents.insert(agent.agent, id);
                if let Some(older) = older.and_then(|older| sockets.inboxes.get(&older)) {
                    older.order(SocketCommand::Superseded {
                        payload: Arc::new(payload::supersede(agent.agent, id)),
                    });
                }
                is_news
            }
        };
        let (inbox, reader) = Inbox::new(self.config.queue_bytes);
        sockets.inboxes.insert(id, inbox.clone());
        sockets.stand_for(caller.accountable_user(), id);
        sockets.opened_with.add(presented, id);
        drop(sockets);
        if is_news {
            self.tell_presence(who, true);
        }
        drop(turn);
        let quota = slot.quota();
        Ok((SocketClaim { hub: self.clone(), caller, presented, id, inbox, quota, slot: Some(slot) }, reader))
    }

    fn may_enter(&self, sockets: &Sockets, caller: Caller, presented: Presented) -> Result<(), ClaimRefused> {
        if self.stopping.load(Ordering::SeqCst) {
            return Err(ClaimRefused::Stopping);
        }
        // Either may have ended since the caller was authenticated; this socket would stay open
        // otherwise.
        if sockets.is_out(caller) || sockets.has_ended(presented) {
            return Err(ClaimRefused::Ended);
        }
        Ok(())
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn sockets(&self) -> MutexGuard<'_, Sockets> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn revalidation(&self) -> MutexGuard<'_, Revalidation> {
        self.revalidation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent_joins(&self) -> MutexGuard<'_, RecentJoins> {
        self.recent_joins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shard(&self, topic: Topic) -> MutexGuard<'_, HashMap<Topic, Listeners>> {
        self.shard_at(self.place_of(topic))
    }

    /// The index of the lock for `thing`.
    fn place_of(&self, thing: impl Hash) -> usize {
        usize::try_from(self.hasher.hash_one(thing) % SHARDS as u64).unwrap_or(0)
    }

    fn shard_at(&self, index: usize) -> MutexGuard<'_, HashMap<Topic, Listeners>> {
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pushes to the subscribers of a topic that `chosen` selects. The payload is made only if
    /// there is one, and may turn out to have no receiver.
    fn tell_chosen(
        &self,
        topic: Topic,
        chosen: impl Fn(&Listener) -> bool,
        make: impl FnOnce() -> Option<Payload>,
    ) {
        let shard = self.shard(topic);
        let listeners = shard.get(&topic).into_iter().flat_map(Listeners::values);
        let mut listeners = listeners.filter(|listener| chosen(listener)).peekable();
        if listeners.peek().is_none() {
            return;
        }
        let Some(payload) = make().map(Arc::new) else { return };
        let mut told = 0;
        for listener in listeners {
            listener.inbox.event(topic, listener.ticket, &payload);
            told += 1;
        }
        self.counts.pushed(told);
    }

    /// Pushes to all subscribers of a topic.
    fn tell(&self, topic: Topic, make: impl FnOnce() -> Payload) {
        self.tell_chosen(topic, |_| true, || Some(make()));
    }

    fn tell_users(&self, topic: Topic, make: impl FnOnce() -> Payload) {
        self.tell_chosen(topic, |listener| listener.who.user().is_some(), || Some(make()));
    }

    fn message_created(&self, message: &Message, recipients: &[AgentId]) {
        let topic = Topic::ChatRoom(message.chat_id);
        self.tell_users(topic, || payload::message_for_user("message_created", message));
        // The state of a new delivery is the same for every recipient.
        let Some(reader) = recipients.first() else { return };
        let addressed =
            |listener: &Listener| listener.who.agent().is_some_and(|agent| recipients.contains(&agent));
        self.tell_chosen(topic, addressed, || {
            let payload = payload::message_for_agent(message, *reader);
            (payload.json.len() < payload::MAX_AGENT_BYTES).then_some(payload)
        });
    }

    /// Ends the subscriptions to a chat's topics that `chosen` selects.
    fn end(&self, chat: ChatId, mut chosen: impl FnMut(&mut Listener) -> bool) {
        self.end_on(chat, |listener, _| chosen(listener));
    }

    fn end_on(&self, chat: ChatId, mut chosen: impl FnMut(&mut Listener, Topic) -> bool) {
        for topic in Topic::of_room(chat) {
            let mut shard = self.shard(topic);
            let Some(listeners) = shard.get_mut(&topic) else { continue };
            listeners.retain(|listener| {
                let stays = !chosen(listener, topic);
                if !stays {
                    listener.inbox.order(SocketCommand::End { topic, ticket: listener.ticket });
                }
                stays
            });
            self.vacate(&mut shard, topic);
        }
    }

    /// Removes a topic without subscribers.
    fn vacate(&self, shard: &mut HashMap<Topic, Listeners>, topic: Topic) {
        if shard.get(&topic).is_some_and(Listeners::is_empty) {
            shard.remove(&topic);
            if let Topic::RoomParticipants(chat) = topic {
                self.watch().forget(chat);
            }
        }
    }
}

impl Hub {
    /// Applies a join to the access bases: an owner who observes the chat also does so through this
    /// agent, and a user who observed it becomes a participant.
    fn joined(&self, chat: ChatId, participant: &Participant) {
        let came = participant.id.agent();
        for topic in Topic::of_room(chat) {
            let mut shard = self.shard(topic);
            for listener in shard.get_mut(&topic).into_iter().flat_map(Listeners::values_mut) {
                let owns = listener.who.user().is_some() && listener.who.user() == participant.owner;
                let change = match came {
                    Some(agent) if owns => BasisChange::Came(agent),
                    None if listener.who == participant.id => BasisChange::TakesPart,
                    _ => continue,
                };
                listener.basis.follow(change);
            }
        }
    }

    /// Applies a removal: ends the subscriptions that have lost their only access basis.
    fn left(&self, chat: ChatId, who: ParticipantId) {
        self.end(chat, |listener| {
            if let Some(agent) = who.agent() {
                listener.basis.follow(BasisChange::Left(agent));
            }
            listener.who == who || listener.basis.is_over()
        });
    }
}

#[cfg(test)]
pub(crate) mod tests;
