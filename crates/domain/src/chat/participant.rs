//! Participants of a chat, with role and status.

use serde::{Deserialize, Serialize};

use super::standing::Membership;
use crate::account::{Agent, User};
use crate::id::{ChatId, ParticipantId, UserId};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// The role of a participant, from least to most rights.
    #[derive(PartialOrd, Ord, Default)]
    Role {
        /// Takes part, and may add peers as members.
        #[default]
        Member = "member",
        /// May also assign the role admin, and remove members.
        Admin = "admin",
        /// May do anything; every chat has at least one.
        Owner = "owner",
    }
}

words! {
    /// The status of a membership, independent of presence.
    ParticipantStatus {
        /// Takes part.
        Active = "active",
        /// An agent that was added and has not yet been active in the chat.
        Inactive = "inactive",
    }
}

impl ParticipantStatus {
    /// The initial status: humans take part at once, agents with their first activity.
    pub const fn on_adding(who: ParticipantId) -> Self {
        match who {
            ParticipantId::User(_) => Self::Active,
            ParticipantId::Agent(_) => Self::Inactive,
        }
    }
}

/// The state of a membership, which decides what a participant may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemberState {
    /// Whether the membership is active.
    pub status: ParticipantStatus,
    /// Set for an agent that is stopped in the chat, see [`crate::control`].
    pub is_stopped: bool,
    /// Set for an agent that is paused.
    pub is_paused: bool,
}

impl MemberState {
    /// The state of a participant that is not stopped.
    pub const fn playing(status: ParticipantStatus) -> Self {
        Self { status, is_stopped: false, is_paused: false }
    }

    /// Returns whether it is stopped or paused.
    pub const fn is_halted(self) -> bool {
        self.is_stopped || self.is_paused
    }

    /// The same, but stopped if `is_stopped` is set.
    #[must_use]
    pub const fn or_stopped(self, is_stopped: bool) -> Self {
        Self { is_stopped: self.is_stopped || is_stopped, ..self }
    }
}

/// A membership as its participant finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnMembership {
    /// The role.
    pub role: Role,
    /// Its state.
    pub state: MemberState,
    /// The time of the last join.
    pub joined_at: Timestamp,
}

/// A participant of a chat, as others see it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Participant {
    /// The user or agent.
    pub id: ParticipantId,
    /// Shown name.
    pub name: String,
    /// Handle, without `@`.
    pub handle: String,
    /// An agent's description; `None` for users.
    pub description: Option<String>,
    /// Whether the agent's owner runs it; `None` for users.
    pub is_external: Option<bool>,
    /// An agent's owner; `None` for users.
    pub owner: Option<UserId>,
    /// The role.
    pub role: Role,
    /// State of the membership.
    pub status: ParticipantStatus,
    /// The time of the last join.
    pub joined_at: Timestamp,
}

impl Participant {
    /// Its id, handle, and name.
    pub fn named(&self) -> Named {
        let Self { id, handle, name, is_external, .. } = self;
        Named { id: *id, handle: handle.clone(), name: name.clone(), is_external: *is_external }
    }

    /// An agent with its membership, and the time of its join.
    pub fn of_agent(agent: &Agent, Membership { role, status }: Membership, joined_at: Timestamp) -> Self {
        Self {
            id: ParticipantId::Agent(agent.id),
            name: agent.name.clone(),
            handle: agent.handle.as_str().to_owned(),
            description: Some(agent.description.clone()),
            is_external: Some(agent.kind.is_external()),
            owner: Some(agent.owner),
            role,
            status,
            joined_at,
        }
    }

    /// A user with the membership, and the time of the join.
    pub fn of_user(user: &User, Membership { role, status }: Membership, joined_at: Timestamp) -> Self {
        Self {
            id: ParticipantId::User(user.id),
            name: user.name.full(),
            handle: user.handle.as_str().to_owned(),
            description: None,
            is_external: None,
            owner: None,
            role,
            status,
            joined_at,
        }
    }
}

/// All participants of one chat, oldest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Roster {
    /// The chat.
    pub chat: ChatId,
    /// All participants, by `joined_at`, then id.
    pub participants: Vec<Participant>,
}

impl Roster {
    /// The participant with this id.
    pub fn find(&self, id: ParticipantId) -> Option<&Participant> {
        self.participants.iter().find(|p| p.id == id)
    }

    /// The names of the participants.
    pub fn names(self) -> Names {
        let named =
            |p: Participant| Named { id: p.id, handle: p.handle, name: p.name, is_external: p.is_external };
        Names(self.participants.into_iter().map(named).collect())
    }
}

/// The name of a participant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// The user or agent.
    pub id: ParticipantId,
    /// Handle, without `@`; it never changes.
    pub handle: String,
    /// Shown name.
    pub name: String,
    /// For an agent, whether its owner runs it; it never changes.
    pub is_external: Option<bool>,
}

/// The names of all participants of one chat, oldest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names(pub Vec<Named>);

impl Names {
    /// The name of the participant with this id.
    pub fn find(&self, id: ParticipantId) -> Option<&Named> {
        self.0.iter().find(|named| named.id == id)
    }

    /// All handles.
    pub fn handles(&self) -> Vec<String> {
        self.0.iter().map(|named| named.handle.clone()).collect()
    }
}
