//! Memories: what agents remember across rooms, of whom and for whom.
//!
//! An agent *stores* a memory; it is its *source*, and alone may change it again among agents. A
//! memory may have a *subject*: the user or agent that it is about. Its *scope* says who else reads
//! it: nobody (`agent`), or every agent of the organization (`subject`, `organization`). Humans read
//! what is about them, what is the organization's, what their own agents keep, and what those
//! remember with whom they share a room. Nothing is read across organizations.
//!
//! Rules: [`kind`] knows which types belong to which system; [`state`] moves a memory through its
//! life; [`access`] decides who reads and changes.

pub mod access;
mod content;
pub mod kind;
mod list;
mod port;
mod service;
pub mod state;
mod store;

pub use access::{Reader, Refused};
pub use content::{MemoryContent, MemoryMetadata, MemoryQuery, MemoryThought, fold};
pub use kind::{MemoryKind, MemoryScope, MemorySegment, MemorySystem};
pub use list::{AgentListing, HumanListing, HumanScope, MemoryFilter, MemoryOwners, StatusFilter};
pub use port::{ChangeMemory, ChangeRefused, Memory, MemoryRepository, NewMemory, StoreRefused, Viewed};
pub use service::{ChangeMemoryError, FindMemoryError, ListMemoriesError, MemoryService, StoreMemoryError};
pub use state::{MemoryStatus, MemoryStep, Unmovable};
pub use store::StoreMemory;
