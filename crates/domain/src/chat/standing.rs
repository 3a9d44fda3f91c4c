//! The standing of a user or agent in a chat, and the rights that follow. Pure; the stores call
//! these on the rows they have read or locked.
//!
//! A human need not be in the chats of own agents. As an *observer*, such a human reads the chat,
//! deletes it if an own agent is its owner, and may do nothing else.

use super::mark_read::MarkReadRefused;
use super::participant::{ParticipantStatus, Role};
use super::port::{DeleteRefused, RenameChatRefused};
use crate::id::{AgentId, Sequence};

/// The reason why the agents of a chat were not stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StopRefused {
    /// The caller cannot see the chat, or it does not exist.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The caller is not an owner of it.
    #[error("only an owner may stop the agents of the chat")]
    NotOwner,
}

/// A membership.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Membership {
    /// The role.
    pub role: Role,
    /// Its state.
    pub status: ParticipantStatus,
}

/// The standing in a chat: as a participant, through own agents, or none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// The own membership.
    pub own: Option<Membership>,
    /// A human's own agents in the chat with their roles, by id; empty for an agent.
    pub agents: Vec<(AgentId, Role)>,
}

/// The state of a chat that is read when a subscription begins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Entrance {
    /// The subscriber's standing.
    pub standing: Standing,
    /// The sequence of its newest message, 0 if there is none: later messages arrive as events,
    /// earlier ones were there before.
    pub last_sequence: Sequence,
}

impl Standing {
    /// Returns whether the chat is visible.
    pub fn may_read(&self) -> bool {
        self.own.is_some() || !self.agents.is_empty()
    }

    /// Returns whether the chat is visible through own agents only.
    pub fn observes(&self) -> bool {
        self.own.is_none() && !self.agents.is_empty()
    }

    /// Decides on renaming the chat: its owners may, and an observer is none.
    pub fn decide_rename(&self) -> Result<(), RenameChatRefused> {
        match self.own {
            Some(Membership { role: Role::Owner, .. }) => Ok(()),
            _ if self.may_read() => Err(RenameChatRefused::NotOwner),
            _ => Err(RenameChatRefused::ChatNotFound),
        }
    }

    /// Decides on stopping the agents of the chat, and on letting them play: its owners may, and an observer is none.
    pub fn decide_stop(&self) -> Result<(), StopRefused> {
        match self.own {
            Some(Membership { role: Role::Owner, .. }) => Ok(()),
            _ if self.may_read() => Err(StopRefused::NotOwner),
            _ => Err(StopRefused::ChatNotFound),
        }
    }

    /// Decides on marking the chat as read: its participants do.
    pub fn decide_mark_read(&self) -> Result<(), MarkReadRefused> {
        match self.own {
            Some(_) => Ok(()),
            None if self.may_read() => Err(MarkReadRefused::NotParticipant),
            None => Err(MarkReadRefused::ChatNotFound),
        }
    }

    /// Decides on deleting the chat: its owners may, and the human behind an owning agent.
    pub fn decide_delete(&self) -> Result<(), DeleteRefused> {
        let own = self.own.map(|membership| membership.role);
        let mut roles = own.into_iter().chain(self.agents.iter().map(|(_, role)| *role));
        if roles.any(|role| role == Role::Owner) {
            Ok(())
        } else if self.may_read() {
            Err(DeleteRefused::NotOwner)
        } else {
            Err(DeleteRefused::ChatNotFound)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn standing(own: Option<Role>, agents: &[Role]) -> Standing {
        let status = ParticipantStatus::Active;
        let agent = |(number, role): (u128, &Role)| (AgentId::new(Uuid::from_u128(number)), *role);
        Standing {
            own: own.map(|role| Membership { role, status }),
            agents: (1..).zip(agents).map(agent).collect(),
        }
    }

    #[test]
    fn who_sees_renames_stops_and_deletes() {
        use Role::{Admin, Member, Owner};
        let (no_room, not_owner) = (Err(DeleteRefused::ChatNotFound), Err(DeleteRefused::NotOwner));
        // Own role, roles of own agents; may read, observes, may rename, may delete.
        let table = [
            (None, vec![], false, false, Err(RenameChatRefused::ChatNotFound), no_room),
            (Some(Member), vec![], true, false, Err(RenameChatRefused::NotOwner), not_owner),
            (Some(Admin), vec![], true, false, Err(RenameChatRefused::NotOwner), not_owner),
            (Some(Owner), vec![], true, false, Ok(()), Ok(())),
            (None, vec![Member, Admin], true, true, Err(RenameChatRefused::NotOwner), not_owner),
            (None, vec![Member, Owner], true, true, Err(RenameChatRefused::NotOwner), Ok(())),
            (Some(Admin), vec![Owner], true, false, Err(RenameChatRefused::NotOwner), Ok(())),
            (Some(Owner), vec![Member], true, false, Ok(()), Ok(())),
        ];
        for (own, agents, reads, observes, rename, delete) in table {
            let stands = standing(own, &agents);
            let stop = rename.map_err(|refused| match refused {
                RenameChatRefused::ChatNotFound => StopRefused::ChatNotFound,
                RenameChatRefused::NotOwner => StopRefused::NotOwner,
            });
            assert_eq!(stands.decide_stop(), stop, "{own:?} {agents:?}");
            let mark = match (reads, observes) {
                (true, false) => Ok(()),
                (true, true) => Err(MarkReadRefused::NotParticipant),
                (false, _) => Err(MarkReadRefused::ChatNotFound),
            };
            assert_eq!(stands.decide_mark_read(), mark, "{own:?} {agents:?}");
            assert_eq!(
                (stands.may_read(), stands.observes(), stands.decide_rename(), stands.decide_delete()),
                (reads, observes, rename, delete),
                "{own:?} {agents:?}"
            );
        }
    }
}
