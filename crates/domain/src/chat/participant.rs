//! Who is in a room, and as what.

use serde::{Deserialize, Serialize};

use super::standing::Membership;
use crate::account::{Agent, User};
use crate::id::{ChatId, ParticipantId, UserId};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// What a participant may do; ordered from least to most.
    #[derive(PartialOrd, Ord, Default)]
    Role {
        /// Takes part, may bring in peers as members.
        #[default]
        Member = "member",
        /// May also give the role admin and remove members.
        Admin = "admin",
        /// May do anything; every room has at least one.
        Owner = "owner",
    }
}

words! {
    /// The state of a membership; not whether somebody is online.
    ParticipantStatus {
        /// Takes part.
        Active = "active",
        /// An agent that was added and has not yet shown itself in the room.
        Inactive = "inactive",
    }
}

impl ParticipantStatus {
    /// What somebody starts with on being added: humans take part at once, agents when they
    /// first show themselves.
    pub const fn on_adding(who: ParticipantId) -> Self {
        match who {
            ParticipantId::User(_) => Self::Active,
            ParticipantId::Agent(_) => Self::Inactive,
        }
    }
}

/// One participant of one room, with what others see of them.
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
    /// Whether it is an agent that runs at its owner's; `None` for users.
    pub is_external: Option<bool>,
    /// An agent's owner; `None` for users.
    pub owner: Option<UserId>,
    /// What they may do.
    pub role: Role,
    /// State of the membership.
    pub status: ParticipantStatus,
    /// When they came, the last time.
    pub joined_at: Timestamp,
}

impl Participant {
    /// An agent that joined at a time, with its membership.
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

    /// A user who joined at a time, with the membership.
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

/// All participants of one room, oldest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Roster {
    /// The room.
    pub chat: ChatId,
    /// Everybody in it, by `joined_at`, then id.
    pub participants: Vec<Participant>,
}

impl Roster {
    /// The participant with this id.
    pub fn find(&self, id: ParticipantId) -> Option<&Participant> {
        self.participants.iter().find(|p| p.id == id)
    }

    /// What they are called.
    pub fn names(self) -> Names {
        let named = |p: Participant| Named { id: p.id, handle: p.handle, name: p.name };
        Names(self.participants.into_iter().map(named).collect())
    }
}

/// What somebody is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// The user or agent.
    pub id: ParticipantId,
    /// Handle, without `@`; it never changes.
    pub handle: String,
    /// Shown name.
    pub name: String,
}

/// What all participants of one room are called, oldest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names(pub Vec<Named>);

impl Names {
    /// The one with this id.
    pub fn find(&self, id: ParticipantId) -> Option<&Named> {
        self.0.iter().find(|named| named.id == id)
    }

    /// All handles.
    pub fn handles(&self) -> Vec<String> {
        self.0.iter().map(|named| named.handle.clone()).collect()
    }
}
