//! Use cases on memories.

use std::sync::Arc;

use super::access::Refused;
use super::kind::MemoryScope;
use super::list::{MemoriesOfAgent, MemoriesOfHuman};
use super::port::{ChangeMemory, ChangeMemoryRefused, Memory, MemoryRepository, NewMemory, StoreRefused};
use super::state::{MemoryStep, Unmovable};
use super::store::StoreMemory;
use crate::caller::{AgentCaller, Caller, UserCaller};
use crate::foreign::{self, ForeignCause, ForeignRepository};
use crate::id::MemoryId;
use crate::page::{Page, PageRequest};
use crate::plan::LimitReached;
use crate::ports::{Clock, IdGenerator};
use crate::store::StoreError;

/// The reason why a memory was not stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreMemoryError {
    /// The system does not have the type.
    #[error("the type does not belong to the system")]
    KindDoesNotFit,
    /// A memory with the scope `subject` needs a subject.
    #[error("a memory with the scope subject needs a subject")]
    SubjectMissing,
    /// The subject does not exist, or the agent cannot know it.
    #[error("the subject is nobody whom the agent knows")]
    SubjectNotFound,
    /// The agent was deleted.
    #[error("the agent is gone")]
    SourceGone,
    /// The memory is for the organization, and the agent works for another one.
    #[error(transparent)]
    Foreign(#[from] ForeignCause),
    /// The organization stores as many bytes as its plan allows.
    #[error(transparent)]
    Limit(#[from] LimitReached),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a memory was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindMemoryError {
    /// The memory does not exist, or the caller may not know of it.
    #[error("there is no such memory for the caller")]
    NotFound,
    /// The caller has no permission to read it.
    #[error("the caller may not read this memory")]
    Forbidden,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why memories were not listed.
#[derive(Debug, thiserror::Error)]
pub enum ListMemoriesError {
    /// The caller is not in the chat.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a memory was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeMemoryError {
    /// The memory does not exist, or the caller may not know of it.
    #[error("there is no such memory for the caller")]
    NotFound,
    /// The caller may not change it.
    #[error("the caller may not change this memory")]
    Forbidden,
    /// The step is not possible from the current state.
    #[error(transparent)]
    Unmovable(#[from] Unmovable),
    /// The memory is for the organization, and the agent works for another one.
    #[error(transparent)]
    Foreign(#[from] ForeignCause),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ChangeMemoryRefused> for ChangeMemoryError {
    fn from(refused: ChangeMemoryRefused) -> Self {
        match refused {
            ChangeMemoryRefused::NotFound => Self::NotFound,
            ChangeMemoryRefused::Forbidden => Self::Forbidden,
            ChangeMemoryRefused::Unmovable(unmovable) => Self::Unmovable(unmovable),
        }
    }
}

/// Use cases on memories.
pub struct MemoryService {
    memories: Arc<dyn MemoryRepository>,
    work: Arc<dyn ForeignRepository>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

impl MemoryService {
    /// Wires the area to its ports.
    pub fn new(
        memories: Arc<dyn MemoryRepository>,
        work: Arc<dyn ForeignRepository>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Self {
        Self { memories, work, clock, ids }
    }

    /// Stores a memory.
    pub async fn store(&self, caller: AgentCaller, command: StoreMemory) -> Result<Memory, StoreMemoryError> {
        let (system, kind, scope) = (command.system(), command.kind(), command.scope());
        if !kind.fits(system) {
            return Err(StoreMemoryError::KindDoesNotFit);
        }
        if scope == MemoryScope::Subject && command.subject.is_none() {
            return Err(StoreMemoryError::SubjectMissing);
        }
        if scope == MemoryScope::Organization {
            foreign::check::<StoreMemoryError>(&*self.work, caller.into()).await?;
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

    /// The memories that the agent may read, newest first.
    pub async fn list_for_agent(
        &self,
        caller: AgentCaller,
        listing: MemoriesOfAgent,
        page: PageRequest,
    ) -> Result<Page<Memory>, StoreError> {
        self.memories.list_for_agent(caller, listing, page).await
    }

    /// The memories that the human may read, newest first.
    pub async fn list_for_human(
        &self,
        caller: UserCaller,
        listing: MemoriesOfHuman,
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
        let caller = caller.into();
        // Who may not change it is told so instead.
        if matches!(caller, Caller::Agent(_))
            && let Some(viewed) = self.memories.find(caller, memory).await?
            && viewed.memory.scope == MemoryScope::Organization
            && viewed.reader.may_change(viewed.memory.scope).is_ok()
        {
            foreign::check::<ChangeMemoryError>(&*self.work, caller).await?;
        }
        let command = ChangeMemory { caller, memory, step: Some(step), now: self.clock.now() };
        Ok(self.memories.change(command).await??)
    }

    /// Deletes a memory permanently, for a human.
    pub async fn delete(&self, caller: UserCaller, memory: MemoryId) -> Result<(), ChangeMemoryError> {
        let command = ChangeMemory { caller: caller.into(), memory, step: None, now: self.clock.now() };
        self.memories.change(command).await??;
        Ok(())
    }
}
