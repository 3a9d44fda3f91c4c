//! A memory to be stored.

use super::content::{MemoryContent, MemoryMetadata, MemoryThought};
use super::kind::{MemoryKind, MemoryScope, MemorySegment, MemorySystem};
use crate::id::AccountId;

/// A memory that an agent stores; missing values have defaults.
#[derive(Clone, PartialEq, Debug)]
pub struct StoreMemory {
    /// The content.
    pub content: MemoryContent,
    /// The system; long-term by default.
    pub system: Option<MemorySystem>,
    /// The type; by default semantic, and iconic for the sensory system.
    pub kind: Option<MemoryKind>,
    /// The segment; by default that of the subject, or agent without one.
    pub segment: Option<MemorySegment>,
    /// The scope; by default the subject's readers if there is a subject, else none.
    pub scope: Option<MemoryScope>,
    /// The subject.
    pub subject: Option<AccountId>,
    /// The reason for storing it.
    pub thought: MemoryThought,
    /// Free-form data.
    pub metadata: MemoryMetadata,
}

impl StoreMemory {
    /// The system, with its default.
    pub fn system(&self) -> MemorySystem {
        self.system.unwrap_or(MemorySystem::LongTerm)
    }

    /// The type, with its default.
    pub fn kind(&self) -> MemoryKind {
        self.kind.unwrap_or(match self.system() {
            MemorySystem::Sensory => MemoryKind::Iconic,
            MemorySystem::Working | MemorySystem::LongTerm => MemoryKind::Semantic,
        })
    }

    /// The scope, with its default.
    pub fn scope(&self) -> MemoryScope {
        let default = if self.subject.is_some() { MemoryScope::Subject } else { MemoryScope::Agent };
        self.scope.unwrap_or(default)
    }
}
