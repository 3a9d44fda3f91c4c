//! The hub: connected sockets, their subscriptions, and the fan-out of events.
//!
//! It combines three parts that share no state: `OpenSockets`, `Subscriptions`, and `PresenceTable`.
//! `Hub::publish` puts an event into the inbox of every subscribed socket that may see it, and never
//! waits for a socket. The store calls it after a commit, in commit order; activity, the task of the
//! bus, and resynchronization call it at any time, so it may run on several threads at once.

pub(crate) mod claim;
mod config;
mod disconnects;
mod drain;
mod end_reason;
mod figures;
mod listed_rooms;
mod open_sockets;
mod presence;
mod publish;
mod quotas;
mod subscriptions;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::change::Change;
use domain::chat::{ChatService, ListedChat, Participant, WorkStatus};
use domain::delivery::Listening;
use domain::id::{AgentId, ChatId, ParticipantId, Sequence, UserId};
use domain::node::{Connected, PresenceChange, SocketNumber};
use domain::operator::OpenSocket;
use domain::ports::{self, Clock};
use domain::store::StoreError;

use crate::acknowledgements::AcknowledgementBuffer;
use crate::inbox::Payload;
use crate::other_nodes::{OtherNodes, SingleNode};
use crate::payload;
use crate::topic::Topic;
use disconnects::Disconnects;
use listed_rooms::ListedRooms;
use open_sockets::OpenSockets;
use presence::{PresenceLock, PresenceTable};
pub(crate) use subscriptions::ListeningAgent;
use subscriptions::Subscriptions;

pub use config::HubConfig;
pub use domain::account::EndReason;
pub(crate) use domain::node::OnConflict;
pub use end_reason::EndCounts;
pub use figures::Figures;
pub use open_sockets::ClaimRefused;
pub use presence::Departure;
pub(crate) use quotas::SocketPermit;

/// The sockets of this process.
pub struct Hub {
    config: HubConfig,
    clock: Arc<dyn Clock>,
    open_sockets: OpenSockets,
    subscriptions: Subscriptions,
    listed_rooms: Arc<ListedRooms>,
    presence: PresenceTable,
    acknowledgements: Arc<AcknowledgementBuffer>,
    /// The chats in which work was retried since the last round of redelivery.
    retried: Mutex<HashSet<ChatId>>,
    /// Set if agents were paused or resumed since the last round.
    pauses_changed: AtomicBool,
    /// The chats whose agents play again since then.
    playing: Mutex<HashSet<ChatId>>,
    /// The agents that have disconnected, or were disabled or deleted, since they were last taken.
    gone: Mutex<HashSet<AgentId>>,
    disconnects: Disconnects,
    others: Arc<dyn OtherNodes>,
}

impl Hub {
    /// Makes the hub of a single server, without sockets; `clock` measures how long a caller has been
    /// disconnected.
    pub fn new(config: HubConfig, clock: Arc<dyn Clock>) -> Arc<Self> {
        Self::in_cluster(config, clock, Arc::new(SingleNode))
    }

    /// Makes the hub of one of several nodes.
    pub fn in_cluster(config: HubConfig, clock: Arc<dyn Clock>, others: Arc<dyn OtherNodes>) -> Arc<Self> {
        Arc::new(Self {
            open_sockets: OpenSockets::new(config.queue_bytes, config.max_sockets_per_caller),
            subscriptions: Subscriptions::new(),
            listed_rooms: Arc::default(),
            presence: PresenceTable::new(clock.clone()),
            acknowledgements: Arc::default(),
            retried: Mutex::default(),
            pauses_changed: AtomicBool::default(),
            playing: Mutex::default(),
            gone: Mutex::default(),
            disconnects: Disconnects::default(),
            others,
            config,
            clock,
        })
    }

    /// The limits of sockets.
    pub fn config(&self) -> &HubConfig {
        &self.config
    }

    /// The current figures.
    pub fn figures(&self) -> Figures {
        let mut figures = Figures::default();
        self.open_sockets.measure(&mut figures);
        self.subscriptions.measure(&mut figures);
        self.presence.measure(&mut figures);
        figures
    }

    /// The open sockets with smaller numbers than this one, newest first: at most `limit`.
    pub fn open_sockets(&self, before: u64, limit: usize) -> Vec<OpenSocket> {
        self.open_sockets.list(before, limit)
    }

    /// Closes every open socket, so that its client reconnects and joins again what it still may: for when
    /// events or changes may have been missed, such as after a commit in doubt. New sockets are accepted.
    pub fn end_sockets(&self) {
        self.open_sockets.stop_all();
    }

    /// Closes every socket because the server stops, and refuses new ones from now on.
    pub fn shut_down(&self) {
        drain::shut_down(&self.open_sockets);
    }

    /// Closes every socket and refuses new ones, like [`Self::shut_down`], but spreads the closes
    /// evenly over this time, so that the clients do not all reconnect at once. The full time passes
    /// even if few sockets are open, since a load balancer may need it to notice that the server is not
    /// ready. If the future is dropped, the remaining sockets stay open.
    pub async fn drain(&self, over: Duration) {
        drain::drain(&self.open_sockets, over).await;
    }

    /// Applies a change that this process or another has made.
    pub fn follow(&self, change: Change) {
        self.open_sockets.follow(change);
        if let Change::AgentDeleted(agent) = change {
            self.subscriptions.end_observers(agent);
        }
        if let Change::WorkRetried(chat) = change {
            self.retried.lock().unwrap_or_else(PoisonError::into_inner).insert(chat);
        }
        if let Change::PauseChanged(_) | Change::AgentPauseChanged(_) = change {
            self.pauses_changed.store(true, Ordering::Relaxed);
        }
        if let Change::AgentsPlaying(chat) = change {
            self.note_resumed(chat);
        }
        if let Change::AgentDeleted(agent) | Change::Disabled(ParticipantId::Agent(agent)) = change {
            self.note_gone(agent, true);
        }
    }

    /// Notes that an agent has gone, or is back.
    fn note_gone(&self, agent: AgentId, gone: bool) {
        let mut all = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        if gone {
            all.insert(agent)
        } else {
            all.remove(&agent)
        };
    }

    /// The agents that have gone since the last call, and are not back: they have no socket on any node, for
    /// [`GRACE`](domain::node::GRACE) if the connection broke, or were disabled or deleted.
    pub fn take_gone(&self) -> HashSet<AgentId> {
        std::mem::take(&mut *self.gone.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that the agents of a chat play again.
    fn note_resumed(&self, chat: ChatId) {
        self.playing.lock().unwrap_or_else(PoisonError::into_inner).insert(chat);
    }

    /// The chats whose agents play again since the last call.
    pub(crate) fn take_resumed(&self) -> HashSet<ChatId> {
        std::mem::take(&mut *self.playing.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether agents were paused or resumed since the last call, in whichever chats.
    pub(crate) fn take_pauses_changed(&self) -> bool {
        self.pauses_changed.swap(false, Ordering::Relaxed)
    }

    /// The chats in which work was retried since the last call.
    pub(crate) fn take_retried(&self) -> HashSet<ChatId> {
        std::mem::take(&mut *self.retried.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the sockets whose keys and tokens have expired; must be called about once a second.
    pub fn expire_credentials(&self) {
        self.open_sockets.expire(self.clock.now());
    }

    /// Publishes the absence of users and agents whose connection broke and who did not return;
    /// must be called about once a second.
    pub fn expire_presence(&self) {
        for who in self.presence.overdue() {
            let lock = self.presence.lock(who);
            // It may have reconnected meanwhile.
            if lock.is_overdue() {
                let news = lock.expire();
                self.others.presence_changed(who);
                self.announce(&lock, news);
            }
        }
    }

    /// Ends the subscriptions to a chat that have lost their access, and updates the access basis of the
    /// others.
    ///
    /// # Errors
    /// [`StoreError`] if the participants could not be read; all subscriptions go on then.
    pub async fn revalidate(&self, chat: ChatId, chats: &ChatService) -> Result<(), StoreError> {
        self.subscriptions.revalidate(chat, chats).await
    }

    /// The acknowledgements of the messages that sockets of agents took.
    pub fn acknowledgements(&self) -> &Arc<AcknowledgementBuffer> {
        &self.acknowledgements
    }

    /// The number of parts of [`Self::listening`].
    pub(crate) fn parts(&self) -> usize {
        self.subscriptions.parts()
    }

    /// One part of the subscriptions of agents to chats.
    pub(crate) fn listening(&self, part: usize) -> Vec<ListeningAgent> {
        self.subscriptions.agents(part)
    }

    /// Pushes to one subscription of an agent, unless it has ended or its queue is full.
    pub(crate) fn push_again(&self, to: &Listening, payload: Payload) -> bool {
        self.subscriptions.push_again(to, payload)
    }

    /// Agents subscribed to chats, each with its chat.
    pub fn agents_in_chats(&self) -> Vec<(AgentId, ChatId)> {
        let all = (0..self.parts()).flat_map(|part| self.listening(part));
        all.map(|ListeningAgent { listening, .. }| (listening.agent, listening.chat)).collect()
    }

    /// Lets a subscription of an agent start again: the messages up to `since` are its backlog.
    pub(crate) fn restart_backlog(&self, listening: Listening, since: Sequence) -> Listening {
        let begun = Listening { since, joined_at: self.clock.now(), ..listening };
        self.subscriptions.restart_backlog(&begun);
        begun
    }

    /// Adds rooms to the list of a human who listens for its changes.
    pub(crate) fn list_rooms(&self, user: UserId, rooms: impl IntoIterator<Item = ChatId>) {
        let interest = |chat| self.others.take_interest(Topic::ChatRoom(chat), true);
        self.listed_rooms.add(user, rooms, interest);
    }

    /// Removes a room that a human no longer sees from the list.
    pub(crate) fn unlist_room(&self, user: UserId, chat: ChatId) {
        self.listed_rooms.remove(user, chat);
    }

    /// Notes that something has happened in a room.
    pub fn note_changed_room(&self, chat: ChatId) {
        self.listed_rooms.note(chat);
    }

    /// The rooms that have changed since the last call, by the humans who listen for that.
    pub(crate) fn take_changed_rooms(&self) -> HashMap<UserId, Vec<ChatId>> {
        self.listed_rooms.take()
    }

    /// Notes which of the taken rooms of a human could not be read; none ends a series of failures.
    pub(crate) fn note_unread_rooms(&self, user: UserId, rooms: &[ChatId]) {
        self.listed_rooms.note_unread(user, rooms);
    }

    /// Must be called when the rooms that were taken are read.
    pub(crate) fn changed_rooms_are_read(&self) {
        self.listed_rooms.finish();
    }

    /// Pushes the new state of a room to a human, unless that one was removed after it was read.
    pub(crate) fn push_changed_room(&self, user: UserId, room: ListedChat, work: WorkStatus) {
        if !self.listed_rooms.is_listed(user, room.chat.id) {
            return;
        }
        self.subscriptions.push(Topic::UserRooms(user), || payload::room_changed(room, work));
    }

    /// Waits until the events of other nodes arrive that the subscriptions need.
    pub(crate) async fn interests_confirmed(&self) {
        self.others.interests_confirmed().await;
    }

    /// The local presence of these users and agents.
    pub fn presence_changes(&self, of: &[ParticipantId]) -> Vec<PresenceChange> {
        self.presence.presence_changes(of)
    }

    /// The agents with a live local socket, and all others that are present on this node.
    pub fn who_is_here(&self) -> (Vec<AgentId>, Vec<ParticipantId>) {
        self.presence.who_is_here()
    }

    /// Gives the local socket of an agent another number, if there is one.
    pub fn renumber(&self, agent: AgentId, number: SocketNumber) {
        self.open_sockets.renumber(agent, number);
    }

    /// Applies the connections of one user or agent to other nodes, as the store has them. A newer
    /// socket there supersedes the one here.
    pub fn observe(&self, who: ParticipantId, remote: &[Connected]) {
        let lock = self.presence.lock(who);
        if let ([Connected { number: Some(number), .. }], Some(agent)) = (remote, who.agent())
            // The list may be older than a claim of this node that was granted meanwhile.
            && !self.open_sockets.give_up(agent, *number)
        {
            return;
        }
        let news = lock.observe(remote);
        self.announce(&lock, news);
    }

    /// Returns whether a topic has subscribers.
    pub fn has_subscribers(&self, topic: Topic) -> bool {
        self.subscriptions.has(topic, |_| true)
    }

    /// Pushes that a participant was added to a chat according to another node, and watches the
    /// participant's presence.
    pub fn added_elsewhere(&self, chat: ChatId, participant: &Participant) {
        self.subscriptions.watch_newcomer(chat, participant);
        self.push_added(chat, participant);
    }

    fn push_added(&self, chat: ChatId, participant: &Participant) {
        self.note_changed_room(chat);
        let make = || payload::participant_added(participant, self.is_participant_present(participant));
        self.subscriptions.push(Topic::RoomParticipants(chat), make);
    }

    fn is_participant_present(&self, participant: &Participant) -> bool {
        ports::Presence::is_present(self, participant.id, participant.is_external)
    }

    /// Pushes that a participant was removed from a chat.
    pub fn push_removed(&self, chat: ChatId, participant: &Participant) {
        self.note_changed_room(chat);
        self.subscriptions.push(Topic::RoomParticipants(chat), || payload::participant_removed(participant));
    }

    /// Announces a change of presence, if there is one, to the subscribers of the chats.
    fn announce(&self, lock: &PresenceLock<'_>, news: Option<bool>) {
        let (who, Some(online)) = (lock.who(), news) else { return };
        if let Some(agent) = who.agent() {
            self.note_gone(agent, !online);
        }
        for chat in self.subscriptions.watched_chats_of(who) {
            let topic = Topic::RoomParticipants(chat);
            self.subscriptions.push(topic, || payload::presence_changed(who, online));
            // Older clients of humans only know the presence of agents, under these names.
            if let Some(agent) = who.agent() {
                let make = || payload::agent_connection(chat, agent, online);
                self.subscriptions.push_to_users(topic, make);
            }
        }
    }
}

impl ports::Presence for Hub {
    fn is_online(&self, who: ParticipantId) -> bool {
        self.presence.is_online(who)
    }
}

#[cfg(test)]
pub(crate) mod tests;
