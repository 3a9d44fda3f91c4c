//! Listing peers and the directory.

use super::port::ListPeers;
use super::service::{ListedPeer, PeerService};
use crate::caller::Caller;
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

/// Why peers were not listed.
#[derive(Debug, thiserror::Error)]
pub enum ListPeersError {
    /// The caller is not in the room whose participants are to be left out, or there is none.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PeerService {
    /// Whom the caller may bring into rooms.
    pub async fn list(
        &self,
        caller: impl Into<Caller>,
        wanted: ListPeers,
        page: PageRequest,
    ) -> Result<Page<ListedPeer>, ListPeersError> {
        let peers = self.peers.peers(caller.into(), wanted, page).await?;
        Ok(self.with_presence(peers.ok_or(ListPeersError::ChatNotFound)?))
    }

    /// The agents whose owners let everybody find them.
    pub async fn directory(
        &self,
        caller: impl Into<Caller>,
        page: PageRequest,
    ) -> Result<Page<ListedPeer>, StoreError> {
        Ok(self.with_presence(self.peers.directory(caller.into(), page).await?))
    }
}
