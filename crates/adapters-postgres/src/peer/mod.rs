//! The store of peers.

mod list;
mod ties;

use async_trait::async_trait;
use domain::caller::Caller;
use domain::page::{Page, PageRequest};
use domain::peer::{ListPeers, Peer, PeerRepository};
use domain::store::StoreError;
use domain::text::NamePart;
use futures_util::FutureExt;

pub(crate) use ties::ties_on;

use crate::PostgresStore;

#[async_trait]
impl PeerRepository for PostgresStore {
    async fn peers(
        &self,
        caller: Caller,
        wanted: ListPeers,
        page: PageRequest,
    ) -> Result<Option<Page<Peer>>, StoreError> {
        let given = (caller, wanted, page);
        if given.1.not_in_chat.is_none() && !given.2.count {
            self.query(given, |db, (caller, wanted, page)| list::peers_on(db, *caller, wanted, page).boxed())
                .await
        } else {
            self.read(given, |db, (caller, wanted, page)| list::peers_on(db, *caller, wanted, page).boxed())
                .await
        }
    }

    async fn directory(
        &self,
        caller: Caller,
        name: Option<NamePart>,
        page: PageRequest,
    ) -> Result<Page<Peer>, StoreError> {
        let given = (caller, name, page);
        if given.2.count {
            self.read(given, |db, (caller, name, page)| {
                list::directory_on(db, *caller, name.as_ref(), page).boxed()
            })
            .await
        } else {
            self.query(given, |db, (caller, name, page)| {
                list::directory_on(db, *caller, name.as_ref(), page).boxed()
            })
            .await
        }
    }
}
