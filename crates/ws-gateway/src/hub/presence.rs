//! Who is there: whoever has a socket, on this node or another, and for a moment whoever has lost the last one.

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

/// How a socket went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Departure {
    /// Its client said good-bye.
    Closed,
    /// Its connection broke, or was ended.
    Dropped,
}

#[derive(Default)]
pub(super) struct Sockets {
    pub(super) inboxes: HashMap<SocketId, Inbox>,
    pub(super) agents: HashMap<AgentId, SocketId>,
    /// Under which numbers the store has granted these, if there are other nodes.
    pub(super) numbers: HashMap<AgentId, SocketNumber>,
    pub(super) remote: RemotePresence,
    pub(super) users: HashMap<UserId, usize>,
    pub(super) ended_agents: Ended<AgentId>,
    pub(super) ended_users: Ended<UserId>,
    pub(super) ended_keys: Ended<ApiKeyId>,
    /// Of whom the tokens have ended, and when the password was set that has ended them.
    pub(super) ended_tokens: Ended<UserId, Timestamp>,
    pub(super) ended_sessions: Ended<SessionId>,
    /// Which sockets somebody answers for: the own, and those of the own agents.
    pub(super) accountable: HashMap<UserId, HashSet<SocketId>>,
    pub(super) opened_with: OpenedWith,
    /// Whose last connection broke, and until when they count as there.
    lingering: HashMap<ParticipantId, Timestamp>,
}

impl Sockets {
    fn has_one(&self, who: ParticipantId) -> bool {
        match who {
            ParticipantId::User(user) => self.users.contains_key(&user),
            ParticipantId::Agent(agent) => self.agents.contains_key(&agent),
        }
    }

    /// Whether somebody counts as being on this node, as far as was told.
    pub(super) fn is_here(&self, who: ParticipantId) -> bool {
        self.has_one(who) || self.lingering.contains_key(&who)
    }

    /// Whether somebody counts as being there, on whichever node.
    pub(super) fn counts(&self, who: ParticipantId) -> bool {
        self.is_here(who) || self.remote.holds(who)
    }

    /// Those who lost their last connection here a moment ago.
    pub(super) fn lingering(&self) -> impl Iterator<Item = ParticipantId> {
        self.lingering.keys().copied()
    }

    pub(super) fn forget_lingering(&mut self, who: ParticipantId) {
        self.lingering.remove(&who);
    }

    /// Somebody is about to get a socket. Whether that is news.
    pub(super) fn arrive(&mut self, who: ParticipantId) -> bool {
        let is_news = !self.counts(who);
        self.lingering.remove(&who);
        is_news
    }

    /// Somebody's last socket here has gone. Whether that is news already.
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
    /// Held while somebody comes or goes and until that was told, so that listeners hear it in its
    /// order; others come and go meanwhile.
    pub(super) fn turn(&self, who: ParticipantId) -> MutexGuard<'_, ()> {
        self.turns[self.place_of(who)].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of those who lost their connection and did not come back; to be called about once a second.
    pub fn expire_presence(&self) {
        let now = self.clock.steady();
        let sockets = self.sockets();
        let overdue = sockets.lingering.keys().copied().filter(|who| sockets.is_overdue(*who, now));
        let overdue = overdue.collect::<Vec<_>>();
        drop(sockets);
        for who in overdue {
            let turn = self.turn(who);
            let mut sockets = self.sockets();
            // It may have come back meanwhile.
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
            // Older programs of humans know it of agents alone, under these names.
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
    /// Who is in a room to whose people this socket listens, and whether they are there; what changes
    /// afterwards comes as events. `ask` is called for the first who listens.
    pub(crate) async fn people<E>(
        &self,
        chat: ChatId,
        ask: impl AsyncFnOnce() -> Result<Roster, E>,
    ) -> Result<Vec<(Person, bool)>, E> {
        let asking = self.hub.watch().asking(chat);
        // The stay on the topic may have come to its end meanwhile.
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
