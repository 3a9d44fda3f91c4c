//! The store of memories.

mod change;
mod forget;
mod read;
mod row;
mod store;

use async_trait::async_trait;
use domain::caller::{AgentCaller, Caller, UserCaller};
use domain::id::MemoryId;
use domain::memory::{
    ChangeMemory, ChangeMemoryRefused, MemoriesOfAgent, MemoriesOfHuman, Memory, MemoryRepository, NewMemory,
    StoreRefused, Viewed,
};
use domain::page::{Page, PageRequest};
use domain::store::StoreError;
use futures_util::FutureExt;

pub(crate) use forget::{forget_on, forget_organization_on};

use crate::PostgresStore;

#[async_trait]
impl MemoryRepository for PostgresStore {
    async fn store(&self, new: NewMemory) -> Result<Result<Memory, StoreRefused>, StoreError> {
        PostgresStore::change(self, new, |db, new| store::store_on(db, new).boxed(), |_| ()).await
    }

    async fn find(&self, caller: Caller, memory: MemoryId) -> Result<Option<Viewed>, StoreError> {
        self.read((caller, memory), |db, (caller, memory)| read::viewed_on(db, *caller, *memory).boxed())
            .await
    }

    async fn list_for_agent(
        &self,
        caller: AgentCaller,
        listing: MemoriesOfAgent,
        page: PageRequest,
    ) -> Result<Page<Memory>, StoreError> {
        self.read((caller, listing, page), |db, (caller, listing, page)| {
            read::for_agent_on(db, *caller, listing, page).boxed()
        })
        .await
    }

    async fn list_for_human(
        &self,
        caller: UserCaller,
        listing: MemoriesOfHuman,
        page: PageRequest,
    ) -> Result<Option<Page<Memory>>, StoreError> {
        self.read((caller, listing, page), |db, (caller, listing, page)| {
            read::for_human_on(db, *caller, listing, page).boxed()
        })
        .await
    }

    async fn change(&self, command: ChangeMemory) -> Result<Result<Memory, ChangeMemoryRefused>, StoreError> {
        PostgresStore::change(self, command, |db, command| change::change_on(db, command).boxed(), |_| ())
            .await
    }
}
