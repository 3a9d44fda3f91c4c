//! Searching and indexing messages, with FTS5.
//!
//! `search_texts` has the place of every indexed message, and `search_index` its keys, with the place as row id: FTS5
//! returns row ids in their order. It is *contentless*: it keeps keys, and no texts.

mod find;
mod index;
#[path = "../../../sql-rows/search.rs"]
mod row;

use async_trait::async_trait;
use diesel::sqlite::SqliteConnection;
use domain::id::ChatId;
use domain::page::Page;
use domain::search::{Hit, IndexStep, MessageSearch, RoomsBehind, SearchRepository};
use domain::store::StoreError;

use crate::SqliteStore;
use crate::error::closed;

pub(crate) use index::{close_on, erase_listed_on, erase_on, rewrite_on};

#[async_trait]
impl SearchRepository for SqliteStore {
    async fn search_messages(&self, search: MessageSearch) -> Result<Page<Hit>, StoreError> {
        let turn = self.searches.clone().acquire_owned().await.map_err(|_| closed())?;
        let search = move |connection: &mut SqliteConnection| {
            let found = find::search_on(connection, search);
            drop(turn);
            found
        };
        self.read(search).await
    }

    async fn index_rooms(&self, rooms: Vec<ChatId>, most: usize) -> Result<IndexStep, StoreError> {
        self.alter(move |connection| index::index_on(connection, &rooms, most)).await
    }

    async fn rooms_behind(&self, after: Option<ChatId>) -> Result<RoomsBehind, StoreError> {
        self.read(move |connection| index::behind_on(connection, after)).await
    }

    async fn erase_entries(&self) -> Result<bool, StoreError> {
        if !self.read(|connection| Ok(index::closed_room_on(connection)?.is_some())).await? {
            return Ok(false);
        }
        self.alter(index::erase_some_on).await
    }
}
