//! The store of peers.

mod list;
mod ties;

use async_trait::async_trait;
use domain::caller::Caller;
use domain::page::{Page, PageRequest};
use domain::peer::{ListPeers, Peer, PeerRepository};
use domain::store::StoreError;
use domain::text::NamePart;

pub(crate) use ties::ties_on;

use crate::SqliteStore;

#[async_trait]
impl PeerRepository for SqliteStore {
    async fn peers(
        &self,
        caller: Caller,
        wanted: ListPeers,
        page: PageRequest,
    ) -> Result<Option<Page<Peer>>, StoreError> {
        self.read(move |connection| list::peers_on(connection, caller, &wanted, &page)).await
    }

    async fn directory(
        &self,
        caller: Caller,
        name: Option<NamePart>,
        page: PageRequest,
    ) -> Result<Page<Peer>, StoreError> {
        self.read(move |connection| list::directory_on(connection, caller, name.as_ref(), &page)).await
    }
}
