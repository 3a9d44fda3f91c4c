//! The store of memories.

use async_trait::async_trait;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::access::Reader;
use super::kind::{MemoryKind, MemoryScope, MemorySegment, MemorySystem};
use super::list::{AgentListing, HumanListing};
use super::state::{MemoryStatus, MemoryStep, Unmovable};
use crate::caller::{AgentCaller, Caller, UserCaller};
use crate::id::{AgentId, MemoryId, OrganizationId, ParticipantId};
use crate::page::{Page, PageRequest};
use crate::plan::LimitReached;
use crate::store::StoreError;
use crate::time::Timestamp;

/// A memory as stored.
#[derive(Clone, PartialEq, Debug)]
pub struct Memory {
    /// Identifier.
    pub id: MemoryId,
    /// Whose it is in the end.
    pub organization: OrganizationId,
    /// The agent that stored it; `None` when that was deleted.
    pub source: Option<AgentId>,
    /// Its name.
    pub source_name: Option<String>,
    /// Whom it is about.
    pub subject: Option<ParticipantId>,
    /// Their name.
    pub subject_name: Option<String>,
    /// In which system.
    pub system: MemorySystem,
    /// Of which type.
    pub kind: MemoryKind,
    /// What it concerns.
    pub segment: MemorySegment,
    /// Who else reads it.
    pub scope: MemoryScope,
    /// Where it stands.
    pub status: MemoryStatus,
    /// What is remembered.
    pub content: String,
    /// Why.
    pub thought: String,
    /// Free-form data.
    pub metadata: Map<String, Value>,
    /// When it was stored.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A memory to be stored.
#[derive(Clone, PartialEq, Debug)]
pub struct NewMemory {
    /// Identifier.
    pub id: MemoryId,
    /// Who stores it.
    pub source: AgentCaller,
    /// Whom it is about; which of the two it is the store finds out.
    pub subject: Option<Uuid>,
    /// In which system.
    pub system: MemorySystem,
    /// Of which type.
    pub kind: MemoryKind,
    /// What it concerns; `None` follows from the subject.
    pub segment: Option<MemorySegment>,
    /// Who else reads it.
    pub scope: MemoryScope,
    /// What is remembered.
    pub content: String,
    /// Why.
    pub thought: String,
    /// Free-form data.
    pub metadata: Map<String, Value>,
    /// When.
    pub now: Timestamp,
}

impl NewMemory {
    /// What it concerns: as is said, or what follows from whom it is about.
    pub fn segment_about(&self, subject: Option<ParticipantId>) -> MemorySegment {
        self.segment.unwrap_or(match subject {
            Some(ParticipantId::User(_)) => MemorySegment::User,
            Some(ParticipantId::Agent(_)) | None => MemorySegment::Agent,
        })
    }
}

/// Why a memory was not stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreRefused {
    /// The subject is nobody, or nobody whom the agent can know.
    SubjectNotFound,
    /// The agent is gone.
    SourceGone,
    /// The organization keeps as many bytes as its plan allows.
    Limit(LimitReached),
}

/// A memory and how the caller stands to it.
#[derive(Clone, PartialEq, Debug)]
pub struct Viewed {
    /// The memory.
    pub memory: Memory,
    /// How the caller stands to it.
    pub reader: Reader,
}

/// A memory to be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChangeMemory {
    /// Who asks.
    pub caller: Caller,
    /// Which.
    pub memory: MemoryId,
    /// What; `None` deletes it.
    pub step: Option<MemoryStep>,
    /// When.
    pub now: Timestamp,
}

/// Memories. Lists run newest first; the position is (`created_at`, id). A deleted memory is in no
/// answer. What a page holds is bounded in bytes, see [`crate::page::fitting`].
#[async_trait]
pub trait MemoryRepository: Send + Sync {
    /// Stores a memory. Its subject must be the agent itself, a peer of it, or somebody in a room
    /// with it. Its organization must have bytes left, by the sum that was noted last
    /// ([`crate::plan::PlanRepository::count_bytes`]).
    async fn store(&self, new: NewMemory) -> Result<Result<Memory, StoreRefused>, StoreError>;

    /// A memory and how `caller` stands to it.
    async fn find(&self, caller: Caller, memory: MemoryId) -> Result<Option<Viewed>, StoreError>;

    /// What an agent may read, narrowed.
    async fn list_for_agent(
        &self,
        caller: AgentCaller,
        listing: AgentListing,
        page: PageRequest,
    ) -> Result<Page<Memory>, StoreError>;

    /// What a human may read, narrowed; `None` when the room is none that the caller is in.
    async fn list_for_human(
        &self,
        caller: UserCaller,
        listing: HumanListing,
        page: PageRequest,
    ) -> Result<Option<Page<Memory>>, StoreError>;

    /// Takes a step, or deletes, if [`Reader::may_change`] allows it on the row as it is now; gives
    /// the memory after it. `None` if there is none.
    async fn change(&self, command: ChangeMemory) -> Result<Result<Memory, ChangeRefused>, StoreError>;
}

/// Why a memory was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeRefused {
    /// The caller may not know of it, or there is none.
    NotFound,
    /// The caller may not change it.
    Forbidden,
    /// It does not lead there from where it stands.
    Unmovable(Unmovable),
}
