//! Presence: users and agents with a socket, on this node or another, and for a moment those whose
//! last connection broke.

use std::collections::{HashMap, HashSet};
use std::sync::{MutexGuard, PoisonError};

use domain::caller::Caller;
use domain::chat::Roster;
use domain::id::{AgentId, ApiKeyId, ChatId, ParticipantId, SessionId, UserId};
use domain::node::{GRACE, SocketNumber};
use domain::ports::Presence;
use domain::time::Timestamp;

use super::remote_presence::RemotePresence;
use super::revoke::{Ended, OpenedWith};
use super::watch::{Person, Watch};
use super::{Hub, SocketClaim, SocketId};
use crate::inbox::Inbox;
use crate::payload;
use crate::topic::Topic;

/// How a socket ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Departure {
    /// The client closed it.
    Closed,
    /// The connection broke, or was ended.
    Dropped,
}

#[derive(Default)]
pub(super) struct Sockets {
    pub(super) inboxes: HashMap<SocketId, Inbox>,
    pub(super) agents: HashMap<AgentId, SocketId>,
    /// The numbers of the claims that the store has granted, if there are other nodes.
    pub(super) numbers: HashMap<AgentId, SocketNumber>,
    pub(super) remote: RemotePresence,
    pub(super) users: HashMap<UserId, usize>,
    pub(super) ended_agents: Ended<AgentId>,
    pub(super) ended_users: Ended<UserId>,
    pub(super) ended_keys: Ended<ApiKeyId>,
    /// The users whose tokens have ended, with the time of the password change that ended them.
    pub(super) ended_tokens: Ended<UserId, Timestamp>,
    pub(super) ended_sessions: Ended<SessionId>,
    /// The sockets that a user is accountable for: own sockets, and those of own agents.
    pub(super) accountable: HashMap<UserId, HashSet<SocketId>>,
    pub(super) opened_with: OpenedWith,
    /// The users and agents whose last connection broke, with the time until which they count as
    /// present.
    lingering: HashMap<ParticipantId, Timestamp>,
}

impl Sockets {
    fn has_one(&self, who: ParticipantId) -> bool {
        match who {
            ParticipantId::User(user) => self.users.contains_key(&user),
            ParticipantId::Agent(agent) => self.agents.contains_key(&agent),
        }
    }

    /// Returns whether `who` counts as present on this node, according to the published events.
    pub(super) fn is_here(&self, who: ParticipantId) -> bool {
        self.has_one(who) || self.lingering.contains_key(&who)
    }

    /// Returns whether `who` counts as present on any node.
    pub(super) fn counts(&self, who: ParticipantId) -> bool {
        self.is_here(who) || self.remote.holds(who)
    }

    /// The users and agents whose last connection to this node broke a moment ago.
    pub(super) fn lingering(&self) -> impl Iterator<Item = ParticipantId> {
        self.lingering.keys().copied()
    }

    pub(super) fn forget_lingering(&mut self, who: ParticipantId) {
        self.lingering.remove(&who);
    }

    /// Records a new socket of `who`; returns whether `who` becomes present.
    pub(super) fn arrive(&mut self, who: ParticipantId) -> bool {
        let is_news = !self.counts(who);
        self.lingering.remove(&who);
        is_news
    }

    /// Records that the last socket of the caller here has gone; returns whether the caller becomes
    /// absent at once.
    pub(super) fn depart(&mut self, caller: Caller, departure: Departure, now: Timestamp) -> bool {
        let lingers = departure == Departure::Dropped && !self.is_out(caller);
        if lingers {
            self.lingering.insert(caller.participant(), now.plus(GRACE));
        }
        !self.counts(caller.participant())
    }

    fn is_overdue(&self, who: ParticipantId, now: Timestamp) -> bool {
        self.lingering.get(&who).is_some_and(|until| *until <= now)
    }
}

impl Hub {
    /// Held while a change of presence is made and published, so that subscribers receive the
    /// changes of one user or agent in order; others proceed meanwhile.
    pub(super) fn turn(&self, who: ParticipantId) -> MutexGuard<'_, ()> {
        self.turns[self.place_of(who)].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the absence of users and agents whose connection broke and who did not return;
    /// must be called about once a second.
    pub fn expire_presence(&self) {
        let now = self.clock.steady();
        let sockets = self.sockets();
        let overdue = sockets.lingering.keys().copied().filter(|who| sockets.is_overdue(*who, now));
        let overdue = overdue.collect::<Vec<_>>();
        drop(sockets);
        for who in overdue {
            let turn = self.turn(who);
            let mut sockets = self.sockets();
            // It may have reconnected meanwhile.
            let gone = sockets.is_overdue(who, now) && sockets.lingering.remove(&who).is_some();
            let is_news = gone && !sockets.counts(who);
            drop(sockets);
            if gone {
                self.note(who);
            }
            if is_news {
                self.tell_presence(who, false);
            }
            drop(turn);
        }
    }

    pub(super) fn tell_presence(&self, who: ParticipantId, online: bool) {
        let rooms = self.watch().rooms_of(who);
        for chat in rooms {
            let topic = Topic::RoomParticipants(chat);
            self.tell(topic, || payload::presence_changed(who, online));
            // Older clients of humans only know the presence of agents, under these names.
            if let Some(agent) = who.agent() {
                self.tell_users(topic, || payload::agent_connection(chat, agent, online));
            }
        }
    }

    pub(super) fn watch(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SocketClaim {
    /// The participants of a chat that this socket is subscribed to, with their presence; later
    /// changes arrive as events. `ask` is called for the first subscriber.
    pub(crate) async fn people<E>(
        &self,
        chat: ChatId,
        ask: impl AsyncFnOnce() -> Result<Roster, E>,
    ) -> Result<Vec<(Person, bool)>, E> {
        let asking = self.hub.watch().asking(chat);
        // The subscription may have ended meanwhile.
        let Some(asking) = asking else { return Ok(Vec::new()) };
        let load = async || {
            let roster = ask().await?;
            let people = roster.participants.iter().map(Person::of).collect();
            self.hub.watch().load(chat, &asking, people);
            Ok(())
        };
        asking.get_or_try_init(load).await?;
        let people = self.hub.watch().people(chat);
        let there = |person: Person| (person, self.hub.is_there(person.id, person.is_external));
        Ok(people.into_iter().map(there).collect())
    }
}

impl Presence for Hub {
    fn is_online(&self, who: ParticipantId) -> bool {
        let sockets = self.sockets();
        let lingers = || sockets.lingering.get(&who).is_some_and(|until| *until > self.clock.steady());
        sockets.has_one(who) || lingers() || sockets.remote.holds(who)
    }
}

#[cfg(test)]
mod tests;
