//! Which memories are wanted.

use super::content::MemoryQuery;
use super::kind::{MemoryKind, MemoryScope, MemorySegment, MemorySystem};
use super::state::MemoryStatus;
use crate::id::{AgentId, ChatId};
use uuid::Uuid;

/// In which state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StatusFilter {
    /// In this one.
    Only(MemoryStatus),
    /// In any.
    All,
}

impl Default for StatusFilter {
    fn default() -> Self {
        Self::Only(MemoryStatus::Active)
    }
}

/// What both kinds of reader may ask for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoryFilter {
    /// Of this system.
    pub system: Option<MemorySystem>,
    /// Of this type.
    pub kind: Option<MemoryKind>,
    /// Of this segment.
    pub segment: Option<MemorySegment>,
    /// With this in its content.
    pub query: Option<MemoryQuery>,
    /// In this state.
    pub status: StatusFilter,
}

/// Whose memories an agent wants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MemoryOwners {
    /// All that it may read.
    #[default]
    Anybody,
    /// Those that it stored.
    Own,
    /// Those of the organization.
    Organization,
}

/// A list of an agent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentListing {
    /// What sort of memories.
    pub filter: MemoryFilter,
    /// About this user or agent.
    pub subject: Option<Uuid>,
    /// With this scope.
    pub scope: Option<MemoryScope>,
    /// Whose.
    pub owners: MemoryOwners,
}

/// What part of what a human may read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum HumanScope {
    /// All of it.
    #[default]
    All,
    /// About the caller.
    AboutMe,
    /// The organization's.
    Organization,
    /// Of those with whom the caller shares a room.
    Room,
}

/// A list of a human.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HumanListing {
    /// What sort of memories.
    pub filter: MemoryFilter,
    /// Which part.
    pub scope: HumanScope,
    /// Of those who are in this room, which the caller must be in.
    pub room: Option<ChatId>,
    /// Stored by this agent.
    pub source: Option<AgentId>,
}
