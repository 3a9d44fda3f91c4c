//! Searching and indexing messages, with an index of arrays.
//!
//! `search_texts` has the place of every indexed message and its keys. A GIN index finds keys, but has no order, so every row
//! has keys of spans of time as well ([`span`]), and a search looks into one span after the other ([`find`]).

mod find;
mod index;
#[path = "../../../sql-rows/search.rs"]
mod row;
mod span;

use async_trait::async_trait;
use domain::id::ChatId;
use domain::page::Page;
use domain::search::{Hit, IndexStep, MessageSearch, RoomsBehind, SearchRepository};
use domain::store::StoreError;
use futures_util::FutureExt;

use crate::PostgresStore;

#[cfg(test)]
pub(crate) use span::keys as span_keys;

pub(crate) use index::{close_on, erase_of_messages_on, erase_on, rewrite_on};

#[async_trait]
impl SearchRepository for PostgresStore {
    async fn search_messages(&self, search: MessageSearch) -> Result<Page<Hit>, StoreError> {
        self.read(search, |db, search| find::search_on(db, search).boxed()).await
    }

    async fn index_rooms(&self, rooms: Vec<ChatId>, most: usize) -> Result<IndexStep, StoreError> {
        let given = (rooms, most);
        self.alter_quietly(given, |db, (rooms, most)| index::index_on(db, rooms, *most).boxed()).await
    }

    async fn rooms_behind(&self, after: Option<ChatId>) -> Result<RoomsBehind, StoreError> {
        self.query(after, |db, after| index::behind_on(db, *after).boxed()).await
    }

    async fn erase_entries(&self) -> Result<bool, StoreError> {
        if self.query((), |db, ()| index::closed_room_on(db).boxed()).await?.is_none() {
            return Ok(false);
        }
        self.alter_quietly((), |db, ()| index::erase_some_on(db).boxed()).await
    }
}
