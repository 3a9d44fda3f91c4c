//! Subscriptions: the sockets that receive the events of each topic, and why they may.
//!
//! A removal by this process ends subscriptions through its event. Of a removal by another process,
//! the change log only says that there was one, and events of other nodes may be outdated. The
//! subscriptions to such a chat are therefore compared with the store
//! ([`Subscriptions::revalidate`]). One chat is revalidated at a time. If a change of it becomes
//! known during the read, the result may be outdated, and the store is read again.

mod basis;
mod listeners;
mod watch;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::chat::{ChatService, Entrance, Participant, Roster};
use domain::delivery::{Listening, SubscriptionId};
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::store::StoreError;
use domain::time::Timestamp;

use super::config::SHARDS;
use super::figures::Figures;
use super::quotas::TopicPermit;
use crate::inbox::{Inbox, InboxItem, Payload, SocketId};
use crate::other_nodes::InterestGuard;
use crate::person::Person;
use crate::topic::Topic;
use basis::{BasisChange, Present, SubscriptionBasis};
use listeners::{Listener, Listeners};
use watch::Watch;

/// The maximum number of reads for a chat that changes during each of them.
const TRIES: usize = 5;

/// Subscriptions that began before the read; later ones have read the store later.
type Begun = HashSet<(Topic, SubscriptionId)>;

/// A subscription of an agent, with a flag for a client that has read its whole queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListeningAgent {
    pub(crate) listening: Listening,
    pub(crate) is_idle: bool,
}

/// The chat that is being revalidated, with a flag for a change since the read began.
#[derive(Default)]
struct Revalidation {
    chat: Option<ChatId>,
    has_changed: bool,
}

/// The subscriptions of all sockets of this process.
pub(super) struct Subscriptions {
    hasher: RandomState,
    shards: Vec<Mutex<HashMap<Topic, Listeners>>>,
    watch: Mutex<Watch>,
    /// The number of the next subscription.
    next: AtomicU64,
    /// Held during a revalidation.
    revalidating: tokio::sync::Mutex<()>,
    revalidation: Mutex<Revalidation>,
    pushes: AtomicU64,
    redeliveries: AtomicU64,
}

impl Subscriptions {
    pub(super) fn new() -> Self {
        let (watch, revalidating, revalidation) = Default::default();
        let (next, pushes, redeliveries) = (AtomicU64::new(1), AtomicU64::new(0), AtomicU64::new(0));
        Self {
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            watch,
            next,
            revalidating,
            revalidation,
            pushes,
            redeliveries,
        }
    }

    /// Subscribes a socket to a topic, in place of an earlier subscription.
    pub(super) fn subscribe(
        &self,
        topic: Topic,
        socket: SocketId,
        who: ParticipantId,
        inbox: Inbox,
        permit: TopicPermit,
        interest: Option<InterestGuard>,
    ) -> SubscriptionId {
        let subscription = SubscriptionId::new(self.next.fetch_add(1, Ordering::Relaxed));
        let basis = SubscriptionBasis::asked();
        let listener = Listener { who, subscription, inbox, basis, _topic: permit, _interest: interest };
        let mut shard = self.shard(topic);
        let listeners = shard.entry(topic).or_default();
        if let (true, Topic::RoomParticipants(chat)) = (listeners.is_empty(), topic) {
            self.watch().begin(chat);
        }
        listeners.insert(socket, listener);
        subscription
    }

    /// Applies the subscriber's access to the topic's chat as read from the store, with the last
    /// sequence, and the time. Ends the subscription at once if the access no longer holds.
    pub(super) fn apply_access(
        &self,
        topic: Topic,
        socket: SocketId,
        subscription: SubscriptionId,
        entrance: &Entrance,
        now: Timestamp,
    ) {
        let mut shard = self.shard(topic);
        let Some(listeners) = shard.get_mut(&topic) else { return };
        let Some(listener) = listeners.get_mut(socket).filter(|one| one.subscription == subscription) else {
            return;
        };
        listener.basis.apply_access(entrance, now);
        if listener.basis.is_over() {
            listener.inbox.send_command(InboxItem::End { topic, subscription });
            listeners.remove(socket);
            self.vacate(&mut shard, topic);
        }
    }

    /// Ends this subscription.
    pub(super) fn unsubscribe(&self, topic: Topic, socket: SocketId, subscription: SubscriptionId) {
        let mut shard = self.shard(topic);
        let Some(listeners) = shard.get_mut(&topic) else { return };
        if listeners.get_mut(socket).is_some_and(|listener| listener.subscription == subscription) {
            listeners.remove(socket);
        }
        self.vacate(&mut shard, topic);
    }

    /// Pushes to all subscribers of a topic.
    pub(super) fn push(&self, topic: Topic, make: impl FnOnce() -> Payload) {
        self.push_to(topic, |_| true, || Some(make()));
    }

    /// Pushes to the humans who are subscribed to a topic.
    pub(super) fn push_to_users(&self, topic: Topic, make: impl FnOnce() -> Payload) {
        self.push_to(topic, |who| who.user().is_some(), || Some(make()));
    }

    /// Pushes to the subscribers of a topic that `chosen` selects. The payload is made only if
    /// there is one, and may turn out to have no receiver.
    pub(super) fn push_to(
        &self,
        topic: Topic,
        chosen: impl Fn(ParticipantId) -> bool,
        make: impl FnOnce() -> Option<Payload>,
    ) {
        let shard = self.shard(topic);
        let listeners = shard.get(&topic).into_iter().flat_map(Listeners::values);
        let mut listeners = listeners.filter(|listener| chosen(listener.who)).peekable();
        if listeners.peek().is_none() {
            return;
        }
        let Some(payload) = make().map(Arc::new) else { return };
        let mut pushed = 0;
        for listener in listeners {
            listener.inbox.event(topic, listener.subscription, &payload);
            pushed += 1;
        }
        self.pushes.fetch_add(pushed, Ordering::Relaxed);
    }

    /// Pushes to one subscription of an agent, unless it has ended or its queue is full.
    pub(super) fn push_again(&self, to: &Listening, payload: Payload) -> bool {
        let topic = Topic::ChatRoom(to.chat);
        let shard = self.shard(topic);
        let mut listeners = shard.get(&topic).into_iter().flat_map(Listeners::values);
        let found =
            listeners.find(|one| one.subscription == to.subscription && one.who.agent() == Some(to.agent));
        let is_queued =
            found.is_some_and(|listener| listener.inbox.offer(topic, listener.subscription, payload));
        if is_queued {
            self.redeliveries.fetch_add(1, Ordering::Relaxed);
            self.pushes.fetch_add(1, Ordering::Relaxed);
        }
        is_queued
    }

    /// Gives a subscription of an agent another beginning, unless it has ended.
    pub(super) fn restart_backlog(&self, to: &Listening) {
        let topic = Topic::ChatRoom(to.chat);
        let mut shard = self.shard(topic);
        let mut listeners = shard.get_mut(&topic).into_iter().flat_map(Listeners::values_mut);
        if let Some(listener) = listeners.find(|one| one.subscription == to.subscription)
            && let SubscriptionBasis::Own { .. } = listener.basis
        {
            listener.basis = SubscriptionBasis::Own { since: to.since, joined_at: to.joined_at };
        }
    }

    /// Returns whether a topic has subscribers that `chosen` selects.
    pub(super) fn has(&self, topic: Topic, chosen: impl Fn(ParticipantId) -> bool) -> bool {
        self.shard(topic).get(&topic).is_some_and(|all| all.values().any(|listener| chosen(listener.who)))
    }

    /// The number of parts of [`Self::agents`].
    pub(super) fn parts(&self) -> usize {
        self.shards.len()
    }

    /// One part of the subscriptions of agents to chats.
    pub(super) fn agents(&self, part: usize) -> Vec<ListeningAgent> {
        let shard = self.shard_at(part);
        let mut all = Vec::new();
        for (topic, listeners) in shard.iter() {
            let Topic::ChatRoom(chat) = *topic else { continue };
            for listener in listeners.values() {
                let &SubscriptionBasis::Own { since, joined_at } = &listener.basis else { continue };
                let Some(agent) = listener.who.agent() else { continue };
                let subscription = listener.subscription;
                let listening = Listening { subscription, agent, chat, since, joined_at };
                all.push(ListeningAgent { listening, is_idle: listener.inbox.is_idle() });
            }
        }
        all
    }

    /// The watched chats in which `who` is a participant.
    pub(super) fn watched_chats_of(&self, who: ParticipantId) -> Vec<ChatId> {
        self.watch().chats_of(who)
    }

    /// The participants of a chat with a subscription to them; `ask` is called for the first
    /// subscriber. Empty if the subscription has ended meanwhile.
    pub(super) async fn people<E>(
        &self,
        chat: ChatId,
        ask: impl AsyncFnOnce() -> Result<Roster, E>,
    ) -> Result<Vec<Person>, E> {
        let asking = self.watch().asking(chat);
        let Some(asking) = asking else { return Ok(Vec::new()) };
        let load = async || {
            let roster = ask().await?;
            let people = roster.participants.iter().map(Person::of).collect();
            self.watch().load(chat, &asking, people);
            Ok(())
        };
        asking.get_or_try_init(load).await?;
        Ok(self.watch().people(chat))
    }

    /// Watches a participant who was added to a chat.
    pub(super) fn watch_newcomer(&self, chat: ChatId, participant: &Participant) {
        self.watch().came(chat, Person::of(participant));
    }

    /// Applies an addition to a chat: an owner who observes it also does so through this agent, and
    /// a user who observed it becomes a participant.
    pub(super) fn add(&self, chat: ChatId, participant: &Participant) {
        self.note_change(Some(chat));
        let came = participant.id.agent();
        for topic in Topic::of_chat(chat) {
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
        self.watch_newcomer(chat, participant);
    }

    /// Applies a removal from a chat: ends the subscriptions that have lost their only access basis.
    pub(super) fn remove(&self, chat: ChatId, who: ParticipantId) {
        self.note_change(Some(chat));
        self.end(chat, |listener, _| {
            if let Some(agent) = who.agent() {
                listener.basis.follow(BasisChange::Left(agent));
            }
            listener.who == who || listener.basis.is_over()
        });
        self.watch().left(chat, who);
    }

    /// Ends all subscriptions to a chat, which was deleted.
    pub(super) fn end_chat(&self, chat: ChatId) {
        self.end(chat, |_, _| true);
    }

    /// Ends the subscriptions whose only basis was this agent, which was deleted.
    pub(super) fn end_observers(&self, agent: AgentId) {
        self.note_change(None);
        for index in 0..self.shards.len() {
            let mut shard = self.shard_at(index);
            let through = |listeners: &Listeners| listeners.values().any(|one| one.basis.rests_on(agent));
            let topics = shard.iter().filter(|(_, listeners)| through(listeners));
            let topics = topics.map(|(topic, _)| *topic).collect::<Vec<_>>();
            for topic in topics {
                self.end_on(&mut shard, topic, |listener| {
                    listener.basis.follow(BasisChange::Left(agent));
                    listener.basis.is_over()
                });
            }
        }
    }

    /// Ends the subscriptions to a chat that have lost their access, and updates the access basis of the
    /// others.
    pub(super) async fn revalidate(&self, chat: ChatId, chats: &ChatService) -> Result<(), StoreError> {
        let _one_at_a_time = self.revalidating.lock().await;
        for attempt in 1..=TRIES {
            *self.revalidation() = Revalidation { chat: Some(chat), has_changed: false };
            let begun = self.begun(chat);
            if begun.is_empty() {
                break;
            }
            let roster = chats.roster_unchecked(chat).await?;
            let revalidation = self.revalidation();
            if !revalidation.has_changed || attempt == TRIES {
                // The lock keeps changes out until the result is applied. The last try applies
                // its roster even if changes have overtaken it, so that a busy chat is revalidated at all.
                match roster {
                    Some(roster) => self.apply_roster(&roster, &begun),
                    None => self.end(chat, |listener, topic| begun.contains(&(topic, listener.subscription))),
                }
                break;
            }
        }
        *self.revalidation() = Revalidation::default();
        Ok(())
    }

    fn apply_roster(&self, roster: &Roster, begun: &Begun) {
        let present = Present::of(roster);
        self.end(roster.chat, |listener, topic| {
            begun.contains(&(topic, listener.subscription)) && !listener.basis.holds(listener.who, &present)
        });
        self.watch().hold(roster.chat, roster.participants.iter().map(Person::of).collect());
    }

    /// Must be called before a change of the participants of a chat is applied; without a chat, the
    /// change concerns many.
    fn note_change(&self, of: Option<ChatId>) {
        let mut revalidation = self.revalidation();
        if of.is_none() || revalidation.chat == of {
            revalidation.has_changed = true;
        }
    }

    /// The subscriptions to a chat.
    fn begun(&self, chat: ChatId) -> Begun {
        let mut begun = Begun::new();
        for topic in Topic::of_chat(chat) {
            let shard = self.shard(topic);
            let listeners = shard.get(&topic).into_iter().flat_map(Listeners::values);
            begun.extend(listeners.map(|listener| (topic, listener.subscription)));
        }
        begun
    }

    /// Ends the subscriptions to a chat's topics that `chosen` selects.
    fn end(&self, chat: ChatId, mut chosen: impl FnMut(&mut Listener, Topic) -> bool) {
        for topic in Topic::of_chat(chat) {
            self.end_on(&mut self.shard(topic), topic, |listener| chosen(listener, topic));
        }
    }

    fn end_on(
        &self,
        shard: &mut HashMap<Topic, Listeners>,
        topic: Topic,
        mut chosen: impl FnMut(&mut Listener) -> bool,
    ) {
        let Some(listeners) = shard.get_mut(&topic) else { return };
        listeners.retain(|listener| {
            let stays = !chosen(listener);
            if !stays {
                listener.inbox.send_command(InboxItem::End { topic, subscription: listener.subscription });
            }
            stays
        });
        self.vacate(shard, topic);
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

    /// Adds the figures of the subscriptions.
    pub(super) fn measure(&self, figures: &mut Figures) {
        figures.pushes = self.pushes.load(Ordering::Relaxed);
        figures.redeliveries = self.redeliveries.load(Ordering::Relaxed);
        for part in 0..self.parts() {
            let shard = self.shard_at(part);
            figures.topics += shard.len();
            figures.listeners += shard.values().map(Listeners::len).sum::<usize>();
        }
    }

    fn shard(&self, topic: Topic) -> MutexGuard<'_, HashMap<Topic, Listeners>> {
        self.shard_at(usize::try_from(self.hasher.hash_one(topic) % SHARDS as u64).unwrap_or(0))
    }

    fn shard_at(&self, index: usize) -> MutexGuard<'_, HashMap<Topic, Listeners>> {
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn revalidation(&self) -> MutexGuard<'_, Revalidation> {
        self.revalidation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
