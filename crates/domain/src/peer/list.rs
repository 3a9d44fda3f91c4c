//! Listing peers and the directory.

use super::port::ListPeers;
use super::service::{ListedPeer, PeerService};
use crate::caller::Caller;
use crate::page::{Page, PageRequest};
use crate::store::StoreError;
use crate::text::NamePart;

/// The reason why peers were not listed.
#[derive(Debug, thiserror::Error)]
pub enum ListPeersError {
    /// The caller is not in the chat whose participants are to be left out, or it does not exist.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PeerService {
    /// The users and agents whom the caller may add to chats.
    pub async fn list(
        &self,
        caller: impl Into<Caller>,
        wanted: ListPeers,
        page: PageRequest,
    ) -> Result<Page<ListedPeer>, ListPeersError> {
        let peers = self.peers.peers(caller.into(), wanted, page).await?;
        Ok(self.with_presence(peers.ok_or(ListPeersError::ChatNotFound)?))
    }

    /// The agents that their owners list in the directory, or those with `name` in their name or handle.
    pub async fn directory(
        &self,
        caller: impl Into<Caller>,
        name: Option<NamePart>,
        page: PageRequest,
    ) -> Result<Page<ListedPeer>, StoreError> {
        Ok(self.with_presence(self.peers.directory(caller.into(), name, page).await?))
    }
}
