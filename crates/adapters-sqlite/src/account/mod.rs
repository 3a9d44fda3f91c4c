//! The store of accounts.

mod administration;
mod create_user;
pub(crate) mod delete_agent;
mod delete_user;
mod disconnects;
mod doors;
pub(crate) mod find;
mod key_repository;
mod keys;
mod leave;
mod list_agents;
mod register_agent;
#[path = "../../../sql-rows/account.rs"]
pub(crate) mod row;
#[cfg(test)]
mod tests;
mod update;

use async_trait::async_trait;
use diesel::sqlite::SqliteConnection;
use domain::account::{
    AccountStatus, AccountStatusRepository, Agent, AgentListing, AgentRepository, Connection,
    CreateUserRefused, DeleteAgent, DeleteAgentRefused, DeletedAgent, Disconnect, DoorUse, MarkAgent,
    NewAgent, NewUser, OpenSession, RegisterRefused, StoredAgent, UpdateAgent, UpdateAgentRefused,
    UpdateUser, User, UserHandle, UserRepository,
};
use domain::id::{AgentId, SessionId, UserId};
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};

use crate::SqliteStore;

/// The agent or user does not exist.
struct Unknown;

#[async_trait]
impl UserRepository for SqliteStore {
    async fn create_user(&self, new: NewUser) -> Result<Result<User, CreateUserRefused>, StoreError> {
        self.change(move |connection| create_user::create_user_on(connection, &new), |_| ()).await
    }

    async fn create_first_user(&self, new: NewUser) -> Result<Option<User>, StoreError> {
        let created =
            self.change(move |connection| create_user::create_first_user_on(connection, &new), |_| ());
        Ok(created.await?.ok())
    }

    async fn update_user(&self, command: UpdateUser) -> Result<Option<User>, StoreError> {
        let work = move |connection: &mut SqliteConnection| {
            Ok(update::update_user_on(connection, &command)?.ok_or(Unknown))
        };
        Ok(self.change(work, |_| ()).await?.ok())
    }

    async fn find_user(&self, id: UserId) -> Result<Option<User>, StoreError> {
        self.read(move |connection| find::user_on(connection, id)).await
    }

    async fn find_user_by_handle(&self, handle: &UserHandle) -> Result<Option<User>, StoreError> {
        let handle = handle.as_str().to_owned();
        self.read(move |connection| find::user_of_handle_on(connection, &handle)).await
    }
}

#[async_trait]
impl AgentRepository for SqliteStore {
    async fn register_agent(
        &self,
        new: NewAgent,
        on_commit: OnCommit<StoredAgent>,
    ) -> Result<Result<StoredAgent, RegisterRefused>, StoreError> {
        let work =
            move |connection: &mut SqliteConnection| register_agent::register_agent_on(connection, &new);
        self.change(work, |stored| on_commit.run(stored)).await
    }

    async fn note_disconnects(&self, ended: Vec<Disconnect>) -> Result<(), StoreError> {
        self.alter(move |connection| disconnects::note_on(connection, &ended)).await
    }

    async fn list_connections(&self, agent: AgentId) -> Result<Vec<Connection>, StoreError> {
        self.read(move |connection| disconnects::list_on(connection, agent)).await
    }

    async fn note_doors(&self, uses: Vec<DoorUse>) -> Result<(), StoreError> {
        self.alter(move |connection| doors::note_on(connection, &uses)).await
    }

    async fn list_doors(&self, agents: Vec<AgentId>) -> Result<Vec<DoorUse>, StoreError> {
        self.read(move |connection| doors::list_on(connection, &agents)).await
    }

    async fn update_agent(
        &self,
        command: UpdateAgent,
        on_commit: OnCommit<Agent>,
    ) -> Result<Result<Agent, UpdateAgentRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| update::update_agent_on(connection, &command);
        self.change(work, |agent| on_commit.run(agent)).await
    }

    async fn mark_agent(
        &self,
        command: MarkAgent,
        on_commit: OnCommit<Agent>,
    ) -> Result<Option<Agent>, StoreError> {
        let work = move |connection: &mut SqliteConnection| {
            Ok(update::mark_agent_on(connection, &command)?.ok_or(Unknown))
        };
        Ok(self.change(work, |agent| on_commit.run(agent)).await?.ok())
    }

    async fn delete_agent(
        &self,
        command: DeleteAgent,
        on_commit: OnCommit<DeletedAgent>,
    ) -> Result<Result<DeletedAgent, DeleteAgentRefused>, StoreError> {
        let work =
            move |connection: &mut SqliteConnection| delete_agent::delete_agent_on(connection, &command);
        self.change(work, |deleted| on_commit.run(deleted)).await
    }

    async fn erase_work(&self, limit: u32) -> Result<bool, StoreError> {
        self.alter(move |connection| delete_agent::erase_work_on(connection, limit)).await
    }

    async fn find_agent(&self, id: AgentId) -> Result<Option<Agent>, StoreError> {
        self.read(move |connection| find::agent_on(connection, id)).await
    }

    async fn find_agent_by_handle(&self, handle: &str) -> Result<Option<Agent>, StoreError> {
        let handle = handle.to_owned();
        self.read(move |connection| find::agent_of_handle_on(connection, &handle)).await
    }

    async fn list_agents(
        &self,
        owner: UserId,
        listing: AgentListing,
        page: PageRequest,
    ) -> Result<Page<Agent>, StoreError> {
        self.read(move |connection| list_agents::agents_on(connection, owner, &listing, page)).await
    }
}

#[async_trait]
impl AccountStatusRepository for SqliteStore {
    async fn find_account_status(&self, user: UserId) -> Result<Option<AccountStatus>, StoreError> {
        self.read(move |connection| find::account_status_on(connection, user)).await
    }

    async fn find_session(&self, session: SessionId) -> Result<Option<OpenSession>, StoreError> {
        self.read(move |connection| find::session_on(connection, session)).await
    }
}
