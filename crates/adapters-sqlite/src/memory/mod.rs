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

pub(crate) use forget::{forget_on, forget_organization_on};

use crate::SqliteStore;

#[async_trait]
impl MemoryRepository for SqliteStore {
    async fn store(&self, new: NewMemory) -> Result<Result<Memory, StoreRefused>, StoreError> {
        self.change(move |connection| store::store_on(connection, &new), |_| ()).await
    }

    async fn find(&self, caller: Caller, memory: MemoryId) -> Result<Option<Viewed>, StoreError> {
        self.read(move |connection| read::viewed_on(connection, caller, memory)).await
    }

    async fn list_for_agent(
        &self,
        caller: AgentCaller,
        listing: MemoriesOfAgent,
        page: PageRequest,
    ) -> Result<Page<Memory>, StoreError> {
        self.read(move |connection| read::for_agent_on(connection, caller, &listing, page)).await
    }

    async fn list_for_human(
        &self,
        caller: UserCaller,
        listing: MemoriesOfHuman,
        page: PageRequest,
    ) -> Result<Option<Page<Memory>>, StoreError> {
        self.read(move |connection| read::for_human_on(connection, caller, &listing, page)).await
    }

    async fn change(&self, command: ChangeMemory) -> Result<Result<Memory, ChangeMemoryRefused>, StoreError> {
        let work = move |connection: &mut _| change::change_on(connection, command);
        SqliteStore::change(self, work, |_| ()).await
    }
}
