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
mod update;

use async_trait::async_trait;
use domain::account::{
    AccountStatus, AccountStatusRepository, Agent, AgentListing, AgentRepository, Connection,
    CreateUserRefused, DeleteAgent, DeleteAgentRefused, DeletedAgent, Disconnect, DoorUse, MarkAgent,
    NewAgent, NewUser, OpenSession, RegisterRefused, StoredAgent, UpdateAgent, UpdateAgentRefused,
    UpdateUser, User, UserHandle, UserRepository,
};
use domain::id::{AgentId, SessionId, UserId};
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};
use futures_util::FutureExt;

use crate::PostgresStore;

#[async_trait]
impl UserRepository for PostgresStore {
    async fn create_user(&self, new: NewUser) -> Result<Result<User, CreateUserRefused>, StoreError> {
        self.change(new, |db, new| create_user::create_user_on(db, new).boxed(), |_| ()).await
    }

    async fn create_first_user(&self, new: NewUser) -> Result<Option<User>, StoreError> {
        let created = self.change(new, |db, new| create_user::create_first_user_on(db, new).boxed(), |_| ());
        Ok(created.await?.ok())
    }

    async fn update_user(&self, command: UpdateUser) -> Result<Option<User>, StoreError> {
        let changed = self.change(command, |db, command| update::update_user_on(db, command).boxed(), |_| ());
        Ok(changed.await?.ok())
    }

    async fn find_user(&self, id: UserId) -> Result<Option<User>, StoreError> {
        self.query(id, |db, id| find::user_on(db, *id).boxed()).await
    }

    async fn find_user_by_handle(&self, handle: &UserHandle) -> Result<Option<User>, StoreError> {
        self.query(handle.clone(), |db, handle| find::user_of_handle_on(db, handle).boxed()).await
    }
}

#[async_trait]
impl AgentRepository for PostgresStore {
    async fn register_agent(
        &self,
        new: NewAgent,
        on_commit: OnCommit<StoredAgent>,
    ) -> Result<Result<StoredAgent, RegisterRefused>, StoreError> {
        let announce = |stored: &StoredAgent| on_commit.run(stored);
        self.change(new, |db, new| register_agent::register_agent_on(db, new).boxed(), announce).await
    }

    async fn note_disconnects(&self, ended: Vec<Disconnect>) -> Result<(), StoreError> {
        self.alter_quietly(ended, |db, ended| disconnects::note_on(db, ended).boxed()).await
    }

    async fn list_connections(&self, agent: AgentId) -> Result<Vec<Connection>, StoreError> {
        self.query(agent, |db, agent| disconnects::list_on(db, *agent).boxed()).await
    }

    async fn note_doors(&self, uses: Vec<DoorUse>) -> Result<(), StoreError> {
        self.alter(uses, |db, uses| doors::note_on(db, uses).boxed()).await
    }

    async fn list_doors(&self, agents: Vec<AgentId>) -> Result<Vec<DoorUse>, StoreError> {
        self.read(agents, |db, agents| doors::list_on(db, agents).boxed()).await
    }

    async fn update_agent(
        &self,
        command: UpdateAgent,
        on_commit: OnCommit<Agent>,
    ) -> Result<Result<Agent, UpdateAgentRefused>, StoreError> {
        let announce = |agent: &Agent| on_commit.run(agent);
        self.change(command, |db, command| update::update_agent_on(db, command).boxed(), announce).await
    }

    async fn mark_agent(
        &self,
        command: MarkAgent,
        on_commit: OnCommit<Agent>,
    ) -> Result<Option<Agent>, StoreError> {
        let announce = |agent: &Agent| on_commit.run(agent);
        let marked = self.change(command, |db, command| update::mark_agent_on(db, command).boxed(), announce);
        Ok(marked.await?.ok())
    }

    async fn delete_agent(
        &self,
        command: DeleteAgent,
        on_commit: OnCommit<DeletedAgent>,
    ) -> Result<Result<DeletedAgent, DeleteAgentRefused>, StoreError> {
        let announce = |deleted: &DeletedAgent| on_commit.run(deleted);
        self.change(command, |db, command| delete_agent::delete_agent_on(db, command).boxed(), announce).await
    }

    async fn erase_work(&self, limit: u32) -> Result<bool, StoreError> {
        self.alter(limit, |db, limit| delete_agent::erase_work_on(db, *limit).boxed()).await
    }

    async fn find_agent(&self, id: AgentId) -> Result<Option<Agent>, StoreError> {
        self.query(id, |db, id| find::agent_on(db, *id).boxed()).await
    }

    async fn find_agent_by_handle(&self, handle: &str) -> Result<Option<Agent>, StoreError> {
        self.query(handle.to_owned(), |db, handle| find::agent_of_handle_on(db, handle).boxed()).await
    }

    async fn list_agents(
        &self,
        owner: UserId,
        listing: AgentListing,
        page: PageRequest,
    ) -> Result<Page<Agent>, StoreError> {
        let given = (owner, listing, page);
        if given.2.count {
            self.read(given, |db, (owner, listing, page)| {
                list_agents::agents_on(db, *owner, listing, page).boxed()
            })
            .await
        } else {
            self.query(given, |db, (owner, listing, page)| {
                list_agents::agents_on(db, *owner, listing, page).boxed()
            })
            .await
        }
    }
}

#[async_trait]
impl AccountStatusRepository for PostgresStore {
    async fn find_account_status(&self, user: UserId) -> Result<Option<AccountStatus>, StoreError> {
        self.query(user, |db, user| find::account_status_on(db, *user).boxed()).await
    }

    async fn find_session(&self, session: SessionId) -> Result<Option<OpenSession>, StoreError> {
        self.query(session, |db, session| find::session_on(db, *session).boxed()).await
    }
}
