//! As what somebody listens to a room, and what becomes of that as others come and go.

use domain::chat::Entrance;
use domain::id::{AgentId, ParticipantId};

use super::recheck::Present;

/// As what somebody listens to a room.
#[derive(Debug)]
pub(super) enum Stay {
    /// The store is being asked; this happened since, in this order.
    Asked { changes: Vec<Change> },
    /// As a participant, since the message of the room at this place; or the topic is none of a room.
    Own { since: i64 },
    /// As the owner of these agents, for as long as one of them is in the room.
    Observer { agents: Vec<AgentId> },
}

/// What changes how somebody stands to a room.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// An agent of theirs came.
    Came(AgentId),
    /// An agent left, theirs or not.
    Left(AgentId),
    /// They came themselves.
    TakesPart,
    /// The store was asked who is in the room.
    Found {
        /// Whether they are.
        takes_part: bool,
        /// Their agents that are.
        agents: Vec<AgentId>,
    },
}

impl Stay {
    /// The store is about to be asked.
    pub(super) fn asked() -> Self {
        Self::Asked { changes: Vec::new() }
    }

    /// The store has told. It may have seen any of what happened meanwhile or not, so all of that
    /// is followed once more.
    pub(super) fn settle(&mut self, entrance: &Entrance) {
        let Self::Asked { changes } = self else { return };
        let changes = std::mem::take(changes);
        let Entrance { standing, last_sequence } = entrance;
        *self = if standing.observes() {
            Self::Observer { agents: standing.agents.iter().map(|(agent, _)| *agent).collect() }
        } else {
            Self::Own { since: *last_sequence }
        };
        for change in changes {
            self.follow(change);
        }
    }

    /// Something has changed.
    pub(super) fn follow(&mut self, change: Change) {
        match (&mut *self, change) {
            (Self::Asked { changes }, change) => changes.push(change),
            (Self::Own { .. }, Change::Found { takes_part: false, agents }) => {
                *self = Self::Observer { agents };
            }
            (Self::Own { .. }, _) => {}
            (Self::Observer { agents }, Change::Found { takes_part: false, agents: found }) => {
                *agents = found;
            }
            (Self::Observer { agents }, Change::Came(agent)) => agents.push(agent),
            (Self::Observer { agents }, Change::Left(agent)) => agents.retain(|own| *own != agent),
            // Only humans observe, and to them it does not matter since when.
            (Self::Observer { .. }, Change::TakesPart | Change::Found { .. }) => {
                *self = Self::Own { since: 0 }
            }
        }
    }

    /// Whether somebody who is in the room lets `who` listen to it, as the store has told just now. What an observer
    /// listens through is what the store has told.
    pub(super) fn holds(&mut self, who: ParticipantId, present: &Present) -> bool {
        let takes_part = present.holds(who);
        if let Self::Own { .. } = self {
            return takes_part;
        }
        let agents = present.agents_of(who);
        let may_listen = takes_part || !agents.is_empty();
        if let Self::Asked { changes } = self {
            // What was before that is in it.
            changes.clear();
        }
        self.follow(Change::Found { takes_part, agents });
        may_listen
    }

    /// Whether it may be through this agent that the room is listened to, perhaps through others as well.
    pub(super) fn rests_on(&self, agent: AgentId) -> bool {
        match self {
            Self::Asked { .. } => true,
            Self::Own { .. } => false,
            Self::Observer { agents } => agents.contains(&agent),
        }
    }

    /// Whether nothing is left through which the room may be listened to.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Observer { agents } if agents.is_empty())
    }
}
