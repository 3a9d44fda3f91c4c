//! Memories: knowledge of agents that outlives a chat.
//!
//! An agent *stores* a memory; it is its *source*, and the only agent that may change it. A memory
//! may have a *subject*: the user or agent that it is about. Its *scope* sets its other readers:
//! none (`agent`), or every agent of the organization (`subject`, `organization`). Humans read the
//! memories about themselves, those of the organization, those of their own agents, and those of
//! agents with whom they share a chat. No memory is read across organizations.
//!
//! Rules: [`kind`] assigns types to systems; [`state`] is the state machine; [`access`] decides who
//! reads and changes.

pub mod access;
mod content;
pub mod kind;
mod list;
mod port;
mod service;
pub mod state;
mod store;

pub use access::{MemoryReader, Refused};
pub use content::{MemoryContent, MemoryMetadata, MemoryQuery, MemoryThought, fold};
pub use kind::{MemoryKind, MemoryScope, MemorySegment, MemorySystem};
pub use list::{HumanScope, MemoriesOfAgent, MemoriesOfHuman, MemoryFilter, MemoryOwners, StatusFilter};
pub use port::{
    ChangeMemory, ChangeMemoryRefused, Memory, MemoryRepository, NewMemory, StoreRefused, Viewed,
};
pub use service::{ChangeMemoryError, FindMemoryError, ListMemoriesError, MemoryService, StoreMemoryError};
pub use state::{MemoryStatus, MemoryStep, Unmovable};
pub use store::StoreMemory;
