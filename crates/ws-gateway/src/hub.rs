//! Who is connected, who listens to what, and how events find them.
//!
//! [`Hub::publish`] is called after the commit and in commit order, by one thread; it puts the
//! event into the inbox of every socket that listens and may see it, and never waits for any.

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

/// Over how many locks the topics are spread, and those who come and go.
const SHARDS: usize = 32;

/// Bounds of a socket.
#[derive(Clone, Copy, Debug)]
pub struct HubConfig {
    /// A socket from which nothing arrives for so long is closed.
    pub idle_timeout: Duration,
    /// How many bytes may wait for one client. It should be enough for three of the largest message: one
    /// that the client is reading, one that waits, and one that comes.
    pub queue_bytes: usize,
    /// How many topics one socket may join.
    pub max_topics: usize,
    /// How many topics all sockets of one caller may join, about.
    pub max_topics_per_caller: usize,
    /// How many connections one caller may have, also ended ones that are not gone yet. Of an agent one
    /// is live.
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

/// Names a socket for as long as the process runs.
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
    /// What is told to the store, if this server is one of several.
    claim_queue: OnceLock<Arc<ClaimQueue>>,
    counts: figures::Counts,
    stopping: AtomicBool,
    /// Set if the server is one of several.
    interests: OnceLock<Arc<Interests>>,
    /// Of rooms to which other nodes say that somebody came, or from which somebody went.
    stale_chats: StaleChats,
    recent_joins: Mutex<RecentJoins>,
    /// Held by whoever looks again at who may listen to a room.
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
    /// A hub without sockets; `clock` tells for how long somebody has been away.
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

    /// The bounds of its sockets.
    pub fn config(&self) -> &HubConfig {
        &self.config
    }

    /// How many sockets are open.
    pub fn socket_count(&self) -> usize {
        self.sockets().inboxes.len()
    }

    /// Tells every open socket to end, so that its client comes back and joins anew what it still may:
    /// for when it is not known what became of a change. New sockets are taken as before.
    pub fn end_sockets(&self) {
        self.sockets().inboxes.values().for_each(|inbox| inbox.order(SocketCommand::Stop));
    }

    /// Makes the caller's newcomer, who has shown `presented`, a live socket. Of an agent there is one at a time: the
    /// older one is told, in the same step, that it is no longer it.
    pub(crate) fn claim(
        self: &Arc<Self>,
        caller: Caller,
        presented: Presented,
        on_conflict: OnConflict,
    ) -> Result<(SocketClaim, Reader), ClaimRefused> {
        let slot = self.slot(caller.participant())?;
        self.admit(caller, presented, on_conflict, slot, None)
    }

    /// The same for one that has a slot; of an agent on one of several nodes the store has granted the place, under
    /// this number.
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
                // What came after the claim was granted may have been heard before it is settled here.
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
        // Either may have ended since the caller was authenticated; then nobody would end this socket.
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

    /// Which of the locks something is under.
    fn place_of(&self, thing: impl Hash) -> usize {
        usize::try_from(self.hasher.hash_one(thing) % SHARDS as u64).unwrap_or(0)
    }

    fn shard_at(&self, index: usize) -> MutexGuard<'_, HashMap<Topic, Listeners>> {
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those on a topic whom `chosen` picks; the payload is made only if there is somebody, and
    /// may turn out to be for nobody.
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

    /// Tells everybody on a topic.
    fn tell(&self, topic: Topic, make: impl FnOnce() -> Payload) {
        self.tell_chosen(topic, |_| true, || Some(make()));
    }

    fn tell_users(&self, topic: Topic, make: impl FnOnce() -> Payload) {
        self.tell_chosen(topic, |listener| listener.who.user().is_some(), || Some(make()));
    }

    fn message_created(&self, message: &Message, recipients: &[AgentId]) {
        let topic = Topic::ChatRoom(message.chat_id);
        self.tell_users(topic, || payload::message_for_user("message_created", message));
        // Nothing has happened to any delivery yet, so every recipient sees the same.
        let Some(reader) = recipients.first() else { return };
        let addressed =
            |listener: &Listener| listener.who.agent().is_some_and(|agent| recipients.contains(&agent));
        self.tell_chosen(topic, addressed, || {
            let payload = payload::message_for_agent(message, *reader);
            (payload.json.len() < payload::MAX_AGENT_BYTES).then_some(payload)
        });
    }

    /// Ends the stays on a room's topics of those whom `chosen` picks.
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

    /// Forgets a topic to which nobody listens any more.
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
    /// Somebody came: an owner who observes the room does so through this agent as well, and a
    /// user who observed it takes part from now on.
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

    /// Somebody left: nobody listens as them any longer, nor through them alone.
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
