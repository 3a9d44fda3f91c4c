//! Why a socket may be subscribed to a chat: as a participant, or as an observer through own agents.

use std::collections::{HashMap, HashSet};

use domain::chat::{Entrance, Roster};
use domain::id::{AgentId, ParticipantId, Sequence, UserId};
use domain::time::Timestamp;

/// The participants of a chat, indexed for lookups.
pub(super) struct Present {
    people: HashSet<ParticipantId>,
    agents: HashMap<UserId, Vec<AgentId>>,
}

impl Present {
    pub(super) fn of(roster: &Roster) -> Self {
        let mut agents = HashMap::<_, Vec<_>>::new();
        for participant in &roster.participants {
            if let (Some(owner), Some(agent)) = (participant.owner, participant.id.agent()) {
                agents.entry(owner).or_default().push(agent);
            }
        }
        Self { people: roster.participants.iter().map(|participant| participant.id).collect(), agents }
    }

    /// The agents of `who` that are participants.
    fn agents_of(&self, who: ParticipantId) -> Vec<AgentId> {
        who.user().and_then(|user| self.agents.get(&user)).cloned().unwrap_or_default()
    }
}

/// The access basis of a subscription.
#[derive(Debug)]
pub(super) enum SubscriptionBasis {
    /// The store is being read; these changes happened since, in this order.
    Asked { changes: Vec<BasisChange> },
    /// As a participant, since this time and the message with this sequence; or the topic is not a chat.
    Own { since: Sequence, joined_at: Timestamp },
    /// As the owner of these agents, as long as one of them is a participant.
    Observer { agents: Vec<AgentId> },
}

/// A change of the access to a chat.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum BasisChange {
    /// An own agent was added.
    Came(AgentId),
    /// An agent was removed, own or not.
    Left(AgentId),
    /// The subscriber was added.
    TakesPart,
    /// The store was read.
    Found {
        /// Set if the subscriber is a participant.
        takes_part: bool,
        /// The own agents that are participants.
        agents: Vec<AgentId>,
    },
}

impl SubscriptionBasis {
    /// Before the store is read.
    pub(super) fn asked() -> Self {
        Self::Asked { changes: Vec::new() }
    }

    /// Applies the result from the store, and then the changes since, which the store may or may
    /// not have seen.
    pub(super) fn apply_access(&mut self, entrance: &Entrance, now: Timestamp) {
        let Self::Asked { changes } = self else { return };
        let changes = std::mem::take(changes);
        let Entrance { standing, last_sequence } = entrance;
        *self = if standing.observes() {
            Self::Observer { agents: standing.agents.iter().map(|(agent, _)| *agent).collect() }
        } else {
            Self::Own { since: *last_sequence, joined_at: now }
        };
        for change in changes {
            self.follow(change);
        }
    }

    /// Applies a change.
    pub(super) fn follow(&mut self, change: BasisChange) {
        match (&mut *self, change) {
            (Self::Asked { changes }, change) => changes.push(change),
            (Self::Own { .. }, BasisChange::Found { takes_part: false, agents }) => {
                *self = Self::Observer { agents };
            }
            (Self::Own { .. }, _) => {}
            (Self::Observer { agents }, BasisChange::Found { takes_part: false, agents: found }) => {
                *agents = found;
            }
            (Self::Observer { agents }, BasisChange::Came(agent)) => agents.push(agent),
            (Self::Observer { agents }, BasisChange::Left(agent)) => agents.retain(|own| *own != agent),
            // Only humans observe, and they need no redelivery.
            (Self::Observer { .. }, BasisChange::TakesPart | BasisChange::Found { .. }) => {
                *self = Self::Own { since: Sequence::default(), joined_at: Timestamp::from_micros(0) }
            }
        }
    }

    /// Returns whether `who` still has access according to the participants that were just read
    /// from the store, and updates the agents of an observer.
    pub(super) fn holds(&mut self, who: ParticipantId, present: &Present) -> bool {
        let takes_part = present.people.contains(&who);
        if let Self::Own { .. } = self {
            return takes_part;
        }
        let agents = present.agents_of(who);
        let may_listen = takes_part || !agents.is_empty();
        if let Self::Asked { changes } = self {
            // Earlier changes are part of it.
            changes.clear();
        }
        self.follow(BasisChange::Found { takes_part, agents });
        may_listen
    }

    /// Returns whether the access may depend on this agent.
    pub(super) fn rests_on(&self, agent: AgentId) -> bool {
        match self {
            Self::Asked { .. } => true,
            Self::Own { .. } => false,
            Self::Observer { agents } => agents.contains(&agent),
        }
    }

    /// Returns whether the access has ended.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Observer { agents } if agents.is_empty())
    }
}
