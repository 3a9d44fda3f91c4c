//! The store of peers: a view over users, agents and contacts.

use async_trait::async_trait;

use super::ties::PeerSource;
use crate::caller::Caller;
use crate::id::{ChatId, ParticipantId, ParticipantKind};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

/// Somebody whom a caller may bring into rooms, as the caller sees them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    /// The user or agent.
    pub id: ParticipantId,
    /// Shown name.
    pub name: String,
    /// Handle, without `@`.
    pub handle: String,
    /// An agent's description; `None` for users.
    pub description: Option<String>,
    /// Whether it is an agent that runs at its owner's; `None` for users.
    pub is_external: Option<bool>,
    /// Whether it is an agent in the directory; `None` for users.
    pub listed_in_directory: Option<bool>,
    /// Whether it is an agent of everybody.
    pub is_global: bool,
    /// An agent's tags; empty for users.
    pub tags: Vec<String>,
    /// Where the caller knows them from.
    pub source: PeerSource,
    /// Whether there is a contact, whatever the source.
    pub is_contact: bool,
}

/// Which peers are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ListPeers {
    /// Leaves out who is in this room.
    pub not_in_chat: Option<ChatId>,
    /// Users only, or agents only.
    pub kind: Option<ParticipantKind>,
}

/// Peers.
#[async_trait]
pub trait PeerRepository: Send + Sync {
    /// The caller's peers, each once: those of the registry first, then those known by contact
    /// only; within both by age, then id. Pages are by number only. `None` when the room that is
    /// to be left out is none that the caller takes part in.
    async fn peers(
        &self,
        caller: Caller,
        wanted: ListPeers,
        page: PageRequest,
    ) -> Result<Option<Page<Peer>>, StoreError>;

    /// The agents in the directory, oldest first, as `caller` sees them; the caller itself and
    /// those that are no peers included. Pages are by number only.
    async fn directory(&self, caller: Caller, page: PageRequest) -> Result<Page<Peer>, StoreError>;
}
