//! The store of memories.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::access::MemoryReader;
use super::kind::{MemoryKind, MemoryScope, MemorySegment, MemorySystem};
use super::list::{MemoriesOfAgent, MemoriesOfHuman};
use super::state::{MemoryStatus, MemoryStep, Unmovable};
use crate::caller::{AgentCaller, Caller, UserCaller};
use crate::id::{AccountId, AgentId, MemoryId, OrganizationId, ParticipantId};
use crate::page::{Page, PageRequest};
use crate::plan::LimitReached;
use crate::store::StoreError;
use crate::time::Timestamp;

/// A memory as stored.
#[derive(Clone, PartialEq, Debug)]
pub struct Memory {
    /// Identifier.
    pub id: MemoryId,
    /// The organization that owns it.
    pub organization: OrganizationId,
    /// The agent that stored it; `None` if that was deleted.
    pub source: Option<AgentId>,
    /// The source's name.
    pub source_name: Option<String>,
    /// The subject.
    pub subject: Option<ParticipantId>,
    /// The subject's name.
    pub subject_name: Option<String>,
    /// The system.
    pub system: MemorySystem,
    /// The type.
    pub kind: MemoryKind,
    /// The segment.
    pub segment: MemorySegment,
    /// The scope.
    pub scope: MemoryScope,
    /// The state.
    pub status: MemoryStatus,
    /// The content.
    pub content: String,
    /// The reason for storing it.
    pub thought: String,
    /// Free-form data.
    pub metadata: Map<String, Value>,
    /// The time at which it was stored.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
}

/// A memory to be stored.
#[derive(Clone, PartialEq, Debug)]
pub struct NewMemory {
    /// Identifier.
    pub id: MemoryId,
    /// The agent that stores it.
    pub source: AgentCaller,
    /// The subject; the store finds out whether it is a user or an agent.
    pub subject: Option<AccountId>,
    /// The system.
    pub system: MemorySystem,
    /// The type.
    pub kind: MemoryKind,
    /// The segment; `None` derives it from the subject.
    pub segment: Option<MemorySegment>,
    /// The scope.
    pub scope: MemoryScope,
    /// The content.
    pub content: String,
    /// The reason for storing it.
    pub thought: String,
    /// Free-form data.
    pub metadata: Map<String, Value>,
    /// The current time.
    pub now: Timestamp,
}

impl NewMemory {
    /// The given segment, or the one that follows from the subject.
    pub fn segment_about(&self, subject: Option<ParticipantId>) -> MemorySegment {
        self.segment.unwrap_or(match subject {
            Some(ParticipantId::User(_)) => MemorySegment::User,
            Some(ParticipantId::Agent(_)) | None => MemorySegment::Agent,
        })
    }
}

/// The reason why a memory was not stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreRefused {
    /// The subject does not exist, or the agent cannot know it.
    SubjectNotFound,
    /// The agent was deleted.
    SourceGone,
    /// The organization stores as many bytes as its plan allows.
    Limit(LimitReached),
}

/// A memory with the caller's relation to it.
#[derive(Clone, PartialEq, Debug)]
pub struct Viewed {
    /// The memory.
    pub memory: Memory,
    /// The caller's relation to it.
    pub reader: MemoryReader,
}

/// A memory to be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChangeMemory {
    /// The caller.
    pub caller: Caller,
    /// The memory.
    pub memory: MemoryId,
    /// The step; `None` deletes it.
    pub step: Option<MemoryStep>,
    /// The current time.
    pub now: Timestamp,
}

/// Memories. Lists run newest first; the position is (`created_at`, id). A deleted memory is in no
/// answer. A page is bounded in bytes, see [`crate::page::fitting`].
#[async_trait]
pub trait MemoryRepository: Send + Sync {
    /// Stores a memory. Its subject must be the agent itself, a peer of it, or a participant of one
    /// of its chats. Its organization must have bytes left, by the last stored sum
    /// ([`crate::plan::PlanRepository::count_bytes`]).
    async fn store(&self, new: NewMemory) -> Result<Result<Memory, StoreRefused>, StoreError>;

    /// A memory with the relation of `caller` to it.
    async fn find(&self, caller: Caller, memory: MemoryId) -> Result<Option<Viewed>, StoreError>;

    /// The memories that an agent may read, filtered.
    async fn list_for_agent(
        &self,
        caller: AgentCaller,
        listing: MemoriesOfAgent,
        page: PageRequest,
    ) -> Result<Page<Memory>, StoreError>;

    /// The memories that a human may read, filtered; `None` if the caller is not in the chat.
    async fn list_for_human(
        &self,
        caller: UserCaller,
        listing: MemoriesOfHuman,
        page: PageRequest,
    ) -> Result<Option<Page<Memory>>, StoreError>;

    /// Takes a step, or deletes, if [`MemoryReader::may_change`] allows it on the current row; returns
    /// the memory afterwards. `None` if there is none.
    async fn change(&self, command: ChangeMemory) -> Result<Result<Memory, ChangeMemoryRefused>, StoreError>;
}

/// The reason why a memory was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeMemoryRefused {
    /// The memory does not exist, or the caller may not know of it.
    NotFound,
    /// The caller may not change it.
    Forbidden,
    /// The step is not possible from the current state.
    Unmovable(Unmovable),
}
