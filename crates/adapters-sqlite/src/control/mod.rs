//! The store of control.

mod executions;
mod pause;
mod pause_agent;
#[path = "../../../sql-rows/control.rs"]
pub(crate) mod row;
mod stop;

use async_trait::async_trait;
use diesel::sqlite::SqliteConnection;
use domain::account::Agent;
use domain::chat::StopRefused;
use domain::control::{
    AgentInChat, ControlRepository, Execution, InterruptAgent, SetAgentPaused, SetAgentPausedRefused,
    SetStopped, StoppedChat,
};
use domain::id::{AgentId, ChatId, OrganizationId, UserId};
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};

use crate::SqliteStore;

#[async_trait]
impl ControlRepository for SqliteStore {
    async fn set_stopped(
        &self,
        command: SetStopped,
        on_commit: OnCommit<StoppedChat>,
    ) -> Result<Result<StoppedChat, StopRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| stop::set_stopped_on(connection, &command);
        self.change(work, |stopped| on_commit.run(stopped)).await
    }

    async fn set_agent_paused(
        &self,
        command: SetAgentPaused,
        on_commit: OnCommit<Agent>,
    ) -> Result<Result<Agent, SetAgentPausedRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| pause_agent::set_paused_on(connection, &command);
        self.change(work, |agent| on_commit.run(agent)).await
    }

    async fn executions(
        &self,
        owner: UserId,
        agent: AgentId,
        page: PageRequest,
    ) -> Result<Option<Page<Execution>>, StoreError> {
        self.read(move |connection| executions::list_on(connection, owner, agent, &page)).await
    }

    async fn memberships_among(
        &self,
        organization: Option<OrganizationId>,
        agents: Vec<(AgentId, ChatId)>,
    ) -> Result<Vec<AgentInChat>, StoreError> {
        self.read(move |connection| pause::memberships_among_on(connection, organization, &agents)).await
    }

    async fn interrupt(
        &self,
        command: InterruptAgent,
        on_commit: OnCommit<Execution>,
    ) -> Result<Option<Execution>, StoreError> {
        let found = self.read(move |connection| executions::chat_of_on(connection, &command)).await?;
        let Some(chat) = found else { return Ok(None) };
        let work = move |connection: &mut SqliteConnection| {
            Ok(executions::interrupt_on(connection, &command, chat)?.ok_or(()))
        };
        Ok(self.change(work, |execution| on_commit.run(execution)).await?.ok())
    }
}
