//! Use cases on memories.

use std::sync::Arc;

use super::access::Refused;
use super::kind::MemoryScope;
use super::list::{AgentListing, HumanListing};
use super::port::{ChangeMemory, ChangeRefused, Memory, MemoryRepository, NewMemory, StoreRefused};
use super::state::{MemoryStep, Unmovable};
use super::store::StoreMemory;
use crate::caller::{AgentCaller, Caller, UserCaller};
use crate::id::MemoryId;
use crate::page::{Page, PageRequest};
use crate::plan::LimitReached;
use crate::ports::{Clock, IdGenerator};
use crate::store::StoreError;

/// Why a memory was not stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreMemoryError {
    /// The type is none of the system's.
    #[error("the type does not belong to the system")]
    KindDoesNotFit,
    /// What is about somebody must say about whom.
    #[error("a memory with the scope subject needs a subject")]
    SubjectMissing,
    /// The subject is nobody, or nobody whom the agent can know.
    #[error("the subject is nobody whom the agent knows")]
    SubjectNotFound,
    /// The agent is gone.
    #[error("the agent is gone")]
    SourceGone,
    /// The organization keeps as many bytes as its plan allows.
    #[error(transparent)]
    Limit(#[from] LimitReached),
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a memory was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindMemoryError {
    /// There is none, or none that the caller may know of.
    #[error("there is no such memory for the caller")]
    NotFound,
    /// It is none of the caller's business.
    #[error("the caller may not read this memory")]
    Forbidden,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why memories were not listed.
#[derive(Debug, thiserror::Error)]
pub enum ListMemoriesError {
    /// The caller is not in the room.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a memory was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeMemoryError {
    /// There is none, or none that the caller may know of.
    #[error("there is no such memory for the caller")]
    NotFound,
    /// The caller may not change it.
    #[error("the caller may not change this memory")]
    Forbidden,
    /// It does not lead there from where it stands.
    #[error(transparent)]
    Unmovable(#[from] Unmovable),
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ChangeRefused> for ChangeMemoryError {
    fn from(refused: ChangeRefused) -> Self {
        match refused {
            ChangeRefused::NotFound => Self::NotFound,
            ChangeRefused::Forbidden => Self::Forbidden,
            ChangeRefused::Unmovable(unmovable) => Self::Unmovable(unmovable),
        }
    }
}

/// Use cases on memories.
pub struct MemoryService {
    memories: Arc<dyn MemoryRepository>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

impl MemoryService {
    /// Wires the area to its ports.
    pub fn new(
        memories: Arc<dyn MemoryRepository>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Self {
        Self { memories, clock, ids }
    }

    /// Remembers something.
    pub async fn store(&self, caller: AgentCaller, command: StoreMemory) -> Result<Memory, StoreMemoryError> {
        let (system, kind, scope) = (command.system(), command.kind(), command.scope());
        if !kind.fits(system) {
            return Err(StoreMemoryError::KindDoesNotFit);
        }
        if scope == MemoryScope::Subject && command.subject.is_none() {
            return Err(StoreMemoryError::SubjectMissing);
        }
        let now = self.clock.now();
        let new = NewMemory {
            id: MemoryId::new(self.ids.generate(now)),
            source: caller,
            subject: command.subject,
            system,
            kind,
            segment: command.segment,
            scope,
            content: command.content.as_str().to_owned(),
            thought: command.thought.as_str().to_owned(),
            metadata: command.metadata.into_members(),
            now,
        };
        match self.memories.store(new).await? {
            Ok(memory) => Ok(memory),
            Err(StoreRefused::SubjectNotFound) => Err(StoreMemoryError::SubjectNotFound),
            Err(StoreRefused::SourceGone) => Err(StoreMemoryError::SourceGone),
            Err(StoreRefused::Limit(reached)) => Err(reached.into()),
        }
    }

    /// One memory.
    pub async fn find(&self, caller: impl Into<Caller>, memory: MemoryId) -> Result<Memory, FindMemoryError> {
        let viewed = self.memories.find(caller.into(), memory).await?.ok_or(FindMemoryError::NotFound)?;
        match viewed.reader.may_read(viewed.memory.scope) {
            Ok(()) => Ok(viewed.memory),
            Err(Refused::NotFound) => Err(FindMemoryError::NotFound),
            Err(Refused::Forbidden) => Err(FindMemoryError::Forbidden),
        }
    }

    /// What the agent may read, newest first.
    pub async fn list_for_agent(
        &self,
        caller: AgentCaller,
        listing: AgentListing,
        page: PageRequest,
    ) -> Result<Page<Memory>, StoreError> {
        self.memories.list_for_agent(caller, listing, page).await
    }

    /// What the human may read, newest first.
    pub async fn list_for_human(
        &self,
        caller: UserCaller,
        listing: HumanListing,
        page: PageRequest,
    ) -> Result<Page<Memory>, ListMemoriesError> {
        let page = self.memories.list_for_human(caller, listing, page).await?;
        page.ok_or(ListMemoriesError::ChatNotFound)
    }

    /// Takes a step with a memory.
    pub async fn change(
        &self,
        caller: impl Into<Caller>,
        memory: MemoryId,
        step: MemoryStep,
    ) -> Result<Memory, ChangeMemoryError> {
        let command = ChangeMemory { caller: caller.into(), memory, step: Some(step), now: self.clock.now() };
        Ok(self.memories.change(command).await??)
    }

    /// Deletes a memory for good; a human's.
    pub async fn delete(&self, caller: UserCaller, memory: MemoryId) -> Result<(), ChangeMemoryError> {
        let command = ChangeMemory { caller: caller.into(), memory, step: None, now: self.clock.now() };
        self.memories.change(command).await??;
        Ok(())
    }
}
