//! The store of accounts.

mod create_user;
mod find;
mod register_agent;
pub(crate) mod row;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use domain::account::{
    AccountRepository, Agent, CreateUserRefused, KeyDigest, NewAgent, NewUser, RegisterRefused, StoredKey,
    User, UserHandle,
};
use domain::id::{AgentId, UserId};
use domain::page::{Page, PageRequest};
use domain::store::StoreError;

use crate::SqliteStore;

#[async_trait]
impl AccountRepository for SqliteStore {
    async fn create_user(&self, new: NewUser) -> Result<Result<User, CreateUserRefused>, StoreError> {
        self.change(move |connection| create_user::create_user_on(connection, &new), |_| ()).await
    }

    async fn create_first_user(&self, new: NewUser) -> Result<Option<User>, StoreError> {
        let created =
            self.change(move |connection| create_user::create_first_user_on(connection, &new), |_| ());
        Ok(created.await?.ok())
    }

    async fn register_agent(&self, new: NewAgent) -> Result<Result<Agent, RegisterRefused>, StoreError> {
        self.change(move |connection| register_agent::register_agent_on(connection, &new), |_| ()).await
    }

    async fn find_key(&self, digest: KeyDigest) -> Result<Option<StoredKey>, StoreError> {
        self.read(move |connection| find::key_on(connection, digest)).await
    }

    async fn find_user(&self, id: UserId) -> Result<Option<User>, StoreError> {
        self.read(move |connection| find::user_on(connection, id)).await
    }

    async fn find_user_by_handle(&self, handle: &UserHandle) -> Result<Option<User>, StoreError> {
        let handle = handle.as_str().to_owned();
        self.read(move |connection| find::user_of_handle_on(connection, &handle)).await
    }

    async fn find_agent(&self, id: AgentId) -> Result<Option<Agent>, StoreError> {
        self.read(move |connection| find::agent_on(connection, id)).await
    }

    async fn list_agents(&self, owner: UserId, page: PageRequest) -> Result<Page<Agent>, StoreError> {
        self.read(move |connection| find::agents_on(connection, owner, page)).await
    }
}
