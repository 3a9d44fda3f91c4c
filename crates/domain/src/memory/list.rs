//! Filters for lists of memories.

use super::content::MemoryQuery;
use super::kind::{MemoryKind, MemoryScope, MemorySegment, MemorySystem};
use super::state::MemoryStatus;
use crate::id::{AccountId, AgentId, ChatId};

/// The states to list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StatusFilter {
    /// Only this one.
    Only(MemoryStatus),
    /// All of them.
    All,
}

impl Default for StatusFilter {
    fn default() -> Self {
        Self::Only(MemoryStatus::Active)
    }
}

/// The filters that users and agents share.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoryFilter {
    /// Of this system.
    pub system: Option<MemorySystem>,
    /// Of this type.
    pub kind: Option<MemoryKind>,
    /// Of this segment.
    pub segment: Option<MemorySegment>,
    /// With this text in the content.
    pub query: Option<MemoryQuery>,
    /// In this state.
    pub status: StatusFilter,
}

/// The sources of the memories that an agent requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MemoryOwners {
    /// All that the agent may read.
    #[default]
    Anybody,
    /// Those that it stored.
    Own,
    /// Those of the organization.
    Organization,
}

/// A list of an agent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoriesOfAgent {
    /// The filters.
    pub filter: MemoryFilter,
    /// About this user or agent.
    pub subject: Option<AccountId>,
    /// With this scope.
    pub scope: Option<MemoryScope>,
    /// Whose.
    pub owners: MemoryOwners,
}

/// The part of the memories that a human may read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum HumanScope {
    /// All of it.
    #[default]
    All,
    /// About the caller.
    AboutMe,
    /// The organization's.
    Organization,
    /// Those of users and agents with whom the caller shares a chat.
    Chat,
}

/// The memories that a human lists.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoriesOfHuman {
    /// The filters.
    pub filter: MemoryFilter,
    /// The part.
    pub scope: HumanScope,
    /// Those of participants of this chat, which the caller must be in.
    pub chat: Option<ChatId>,
    /// Stored by this agent.
    pub source: Option<AgentId>,
}
