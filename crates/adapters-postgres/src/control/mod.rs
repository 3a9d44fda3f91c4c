//! The store of control.

mod executions;
mod pause;
mod pause_agent;
#[path = "../../../sql-rows/control.rs"]
pub(crate) mod row;
mod stop;

use async_trait::async_trait;
use domain::account::Agent;
use domain::chat::StopRefused;
use domain::control::{
    AgentInChat, ControlRepository, Execution, InterruptAgent, SetAgentPaused, SetAgentPausedRefused,
    SetStopped, StoppedChat,
};
use domain::id::{AgentId, ChatId, OrganizationId, UserId};
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};
use futures_util::FutureExt;

use crate::PostgresStore;

#[async_trait]
impl ControlRepository for PostgresStore {
    async fn set_stopped(
        &self,
        command: SetStopped,
        on_commit: OnCommit<StoppedChat>,
    ) -> Result<Result<StoppedChat, StopRefused>, StoreError> {
        let announce = |stopped: &StoppedChat| on_commit.run(stopped);
        self.change(command, |db, command| stop::set_stopped_on(db, command).boxed(), announce).await
    }

    async fn set_agent_paused(
        &self,
        command: SetAgentPaused,
        on_commit: OnCommit<Agent>,
    ) -> Result<Result<Agent, SetAgentPausedRefused>, StoreError> {
        let announce = |agent: &Agent| on_commit.run(agent);
        self.change(command, |db, command| pause_agent::set_paused_on(db, command).boxed(), announce).await
    }

    async fn executions(
        &self,
        owner: UserId,
        agent: AgentId,
        page: PageRequest,
    ) -> Result<Option<Page<Execution>>, StoreError> {
        let given = (owner, agent, page);
        self.read(given, |db, (owner, agent, page)| executions::list_on(db, *owner, *agent, page).boxed())
            .await
    }

    async fn memberships_among(
        &self,
        organization: Option<OrganizationId>,
        agents: Vec<(AgentId, ChatId)>,
    ) -> Result<Vec<AgentInChat>, StoreError> {
        self.query((organization, agents), |db, (organization, agents)| {
            pause::memberships_among_on(db, *organization, agents).boxed()
        })
        .await
    }

    async fn interrupt(
        &self,
        command: InterruptAgent,
        on_commit: OnCommit<Execution>,
    ) -> Result<Option<Execution>, StoreError> {
        let found = self.query(command, |db, command| executions::chat_of_on(db, command).boxed()).await?;
        let Some(chat) = found else { return Ok(None) };
        let announce = |execution: &Execution| on_commit.run(execution);
        let found = self.change(
            (command, chat),
            |db, (command, chat)| {
                executions::interrupt_on(db, command, *chat).map(|found| Ok(found?.ok_or(()))).boxed()
            },
            announce,
        );
        Ok(found.await?.ok())
    }
}
