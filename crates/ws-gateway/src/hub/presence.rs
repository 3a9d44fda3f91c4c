//! Presence: users and agents with a socket, on this node or another, and for a moment those whose
//! last connection broke.
//!
//! A change is made and announced under the [`PresenceLock`] of its user or agent, so that subscribers
//! receive the changes of one in order; those of others proceed meanwhile.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::id::{AgentId, ParticipantId};
use domain::node::{Connected, GRACE, PresenceChange, SocketNumber};
use domain::ports::Clock;
use domain::time::Timestamp;

use super::config::SHARDS;
use super::figures::Figures;

/// How a socket ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Departure {
    /// The client closed it.
    Closed,
    /// The connection broke, or was ended.
    Dropped,
}

/// Who is present.
pub(super) struct PresenceTable {
    clock: Arc<dyn Clock>,
    hasher: RandomState,
    locks: Vec<Mutex<()>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Those with a live socket on this node.
    here: HashSet<ParticipantId>,
    /// Those whose last connection to this node broke, with the time until which they count as
    /// present.
    lingering: HashMap<ParticipantId, Timestamp>,
    /// Those who are connected to other nodes, with the number of an agent's socket there.
    remote: HashMap<ParticipantId, Option<SocketNumber>>,
}

/// The right to change the presence of one user or agent.
pub(super) struct PresenceLock<'a> {
    presence: &'a PresenceTable,
    who: ParticipantId,
    _held: MutexGuard<'a, ()>,
}

impl State {
    /// Returns whether `who` counts as present on this node, according to the published events.
    fn is_here(&self, who: ParticipantId) -> bool {
        self.here.contains(&who) || self.lingering.contains_key(&who)
    }

    /// Returns whether `who` counts as present on any node.
    fn counts(&self, who: ParticipantId) -> bool {
        self.is_here(who) || self.remote.contains_key(&who)
    }
}

impl PresenceTable {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let locks = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { clock, hasher: RandomState::new(), locks, state: Mutex::default() }
    }

    /// Waits until the presence of `who` may be changed.
    pub(super) fn lock(&self, who: ParticipantId) -> PresenceLock<'_> {
        let index = usize::try_from(self.hasher.hash_one(who) % SHARDS as u64).unwrap_or(0);
        let held = self.locks[index].lock().unwrap_or_else(PoisonError::into_inner);
        PresenceLock { presence: self, who, _held: held }
    }

    /// Returns whether `who` is connected to any node, or was a moment ago.
    pub(super) fn is_online(&self, who: ParticipantId) -> bool {
        let state = self.state();
        let lingers = || state.lingering.get(&who).is_some_and(|until| *until > self.clock.steady());
        state.here.contains(&who) || lingers() || state.remote.contains_key(&who)
    }

    /// The users and agents whose connection broke and who did not return in time.
    pub(super) fn overdue(&self) -> Vec<ParticipantId> {
        let now = self.clock.steady();
        let state = self.state();
        state.lingering.iter().filter(|(_, until)| **until <= now).map(|(who, _)| *who).collect()
    }

    /// The presence of these users and agents on this node.
    pub(super) fn presence_changes(&self, of: &[ParticipantId]) -> Vec<PresenceChange> {
        let state = self.state();
        let change = |who: &ParticipantId| match who {
            ParticipantId::User(user) if state.is_here(*who) => Some(PresenceChange::UserConnected(*user)),
            ParticipantId::User(user) => Some(PresenceChange::UserDisconnected(*user)),
            // The claim has reported it.
            ParticipantId::Agent(_) if state.here.contains(who) => None,
            ParticipantId::Agent(agent) if state.is_here(*who) => Some(PresenceChange::AgentLost(*agent)),
            ParticipantId::Agent(agent) => Some(PresenceChange::AgentDisconnected(*agent)),
        };
        of.iter().filter_map(change).collect()
    }

    /// The agents with a live socket on this node, and all others that are present on it.
    pub(super) fn who_is_here(&self) -> (Vec<AgentId>, Vec<ParticipantId>) {
        let state = self.state();
        let agents = state.here.iter().filter_map(|who| who.agent()).collect();
        let users = state.here.iter().filter(|who| who.user().is_some());
        (agents, users.chain(state.lingering.keys()).copied().collect())
    }

    /// Adds the figures of the other nodes.
    pub(super) fn measure(&self, figures: &mut Figures) {
        figures.remote = self.state().remote.len();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The changes return whether the user or agent is present now; `None` if that has not changed.
impl PresenceLock<'_> {
    pub(super) fn who(&self) -> ParticipantId {
        self.who
    }

    /// Applies a new socket on this node; with a granted claim, it supersedes one elsewhere.
    pub(super) fn arrive(&self, is_granted: bool) -> Option<bool> {
        self.change(|state| {
            state.here.insert(self.who);
            state.lingering.remove(&self.who);
            if is_granted {
                state.remote.remove(&self.who);
            }
        })
    }

    /// Applies the end of the last socket on this node.
    pub(super) fn depart(&self, lingers: bool) -> Option<bool> {
        let until = lingers.then(|| self.presence.clock.steady().plus(GRACE));
        self.change(|state| {
            state.here.remove(&self.who);
            state.lingering.extend(until.map(|until| (self.who, until)));
        })
    }

    /// Returns whether the connection broke and the time to return has passed.
    pub(super) fn is_overdue(&self) -> bool {
        let now = self.presence.clock.steady();
        self.presence.state().lingering.get(&self.who).is_some_and(|until| *until <= now)
    }

    /// Applies that the user or agent did not return.
    pub(super) fn expire(&self) -> Option<bool> {
        self.change(|state| _ = state.lingering.remove(&self.who))
    }

    /// Returns whether an agent has a socket on another node that is newer than the one with this number.
    pub(super) fn has_newer(&self, number: SocketNumber) -> bool {
        self.presence.state().remote.get(&self.who).is_some_and(|there| *there > Some(number))
    }

    /// Applies the connections to other nodes; an agent with a socket there has none here.
    pub(super) fn observe(&self, remote: &[Connected]) -> Option<bool> {
        self.change(|state| {
            if self.who.agent().is_some() && remote.iter().any(|there| there.number.is_some()) {
                state.here.remove(&self.who);
                state.lingering.remove(&self.who);
            }
            match remote.first() {
                Some(there) => _ = state.remote.insert(self.who, there.number),
                None => _ = state.remote.remove(&self.who),
            }
        })
    }

    fn change(&self, change: impl FnOnce(&mut State)) -> Option<bool> {
        let mut state = self.presence.state();
        let before = state.counts(self.who);
        change(&mut state);
        let after = state.counts(self.who);
        (before != after).then_some(after)
    }
}
