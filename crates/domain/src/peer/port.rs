//! The store of peers: a view over users, agents and contacts.

use async_trait::async_trait;

use super::ties::PeerSource;
use crate::caller::Caller;
use crate::id::{ChatId, ParticipantId, ParticipantKind};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;
use crate::text::NamePart;

/// A user or agent whom a caller may add to chats, as the caller sees them.
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
    /// Set for an agent that runs at its owner's; `None` for users.
    pub is_external: Option<bool>,
    /// Set for an agent in the directory; `None` for users.
    pub listed_in_directory: Option<bool>,
    /// Set for a global agent.
    pub is_global: bool,
    /// An agent's tags; empty for users.
    pub tags: Vec<String>,
    /// The source of the relation.
    pub source: PeerSource,
    /// Set if there is a contact, whatever the source.
    pub is_contact: bool,
}

/// The maximum number of peers, or of agents of the directory, that a search by name examines for one page.
pub const SEARCHED_PEERS: u32 = 10_000;

/// The filters of a list of peers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListPeers {
    /// Leaves out the participants of this chat.
    pub not_in_chat: Option<ChatId>,
    /// Users only, or agents only.
    pub kind: Option<ParticipantKind>,
    /// Only those with this in their name or handle.
    pub name: Option<NamePart>,
}

/// Peers.
#[async_trait]
pub trait PeerRepository: Send + Sync {
    /// The caller's peers, each once: those of the registry first, then those by contact only;
    /// within both by age, then id. `None` if the caller is not in the chat to be left out.
    async fn peers(
        &self,
        caller: Caller,
        wanted: ListPeers,
        page: PageRequest,
    ) -> Result<Option<Page<Peer>>, StoreError>;

    /// The agents in the directory with `name` in their name or handle, oldest first, as `caller` sees
    /// them, including the caller itself and agents that are no peers.
    async fn directory(
        &self,
        caller: Caller,
        name: Option<NamePart>,
        page: PageRequest,
    ) -> Result<Page<Peer>, StoreError>;
}
