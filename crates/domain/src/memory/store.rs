//! Something to be remembered.

use uuid::Uuid;

use super::content::{MemoryContent, MemoryMetadata, MemoryThought};
use super::kind::{MemoryKind, MemoryScope, MemorySegment, MemorySystem};

/// What an agent wants to remember; what it leaves out follows from the rest.
#[derive(Clone, PartialEq, Debug)]
pub struct StoreMemory {
    /// What.
    pub content: MemoryContent,
    /// In which system; long-term if nothing is said.
    pub system: Option<MemorySystem>,
    /// Of which type; semantic if nothing is said, iconic of the senses.
    pub kind: Option<MemoryKind>,
    /// What it concerns; with a subject its kind, else an agent.
    pub segment: Option<MemorySegment>,
    /// Who else reads it; with a subject those who may, else nobody.
    pub scope: Option<MemoryScope>,
    /// Whom it is about.
    pub subject: Option<Uuid>,
    /// Why.
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
