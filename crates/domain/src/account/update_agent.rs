//! Changing what is known of an agent.

use super::agent::{Agent, AgentBio, AgentDescription, AgentName, AgentTag, ModelType};
use super::port::{UpdateAgent, UpdateAgentRefused};
use super::service::AccountService;
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::AgentId;
use crate::store::{OnCommit, StoreError};

/// What is to change; what is `None` stays. The handle stays in any case.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentChanges {
    /// Another name.
    pub name: Option<AgentName>,
    /// What it is for.
    pub description: Option<AgentDescription>,
    /// Which model it runs on; `Some(None)` takes it away.
    pub model_type: Option<Option<ModelType>>,
    /// A longer presentation; `Some(None)` takes it away.
    pub bio: Option<Option<AgentBio>>,
    /// Words by which it may be found.
    pub tags: Option<Vec<AgentTag>>,
    /// Whether it stands in the directory.
    pub listed_in_directory: Option<bool>,
    /// Whether it may discover its owner's other agents.
    pub registry_access: Option<bool>,
    /// Whether the owner's organization sees it.
    pub shared_with_organization: Option<bool>,
}

/// Why an agent was not changed.
#[derive(Debug, thiserror::Error)]
pub enum UpdateAgentError {
    /// The caller owns no such agent.
    #[error("there is no such agent of the caller")]
    AgentNotFound,
    /// The owner has another agent of this name.
    #[error("the name is already taken")]
    NameTaken,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AccountService {
    /// Changes an agent of the caller.
    pub async fn update_agent(
        &self,
        caller: UserCaller,
        agent: AgentId,
        changes: AgentChanges,
    ) -> Result<Agent, UpdateAgentError> {
        let command = UpdateAgent { agent, owner: caller.user, changes, now: self.clock.now() };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |agent: &Agent| {
            events.publish(DomainEvent::AgentUpdated { agent: agent.clone() });
        });
        match self.accounts.update_agent(command, on_commit).await? {
            Ok(agent) => Ok(agent),
            Err(UpdateAgentRefused::NotFound) => Err(UpdateAgentError::AgentNotFound),
            Err(UpdateAgentRefused::NameTaken) => Err(UpdateAgentError::NameTaken),
        }
    }

    /// An agent of the caller.
    pub async fn owned_agent(&self, caller: UserCaller, agent: AgentId) -> Result<Agent, UpdateAgentError> {
        let found = self.accounts.find_agent(agent).await?;
        found.filter(|agent| agent.owner == caller.user).ok_or(UpdateAgentError::AgentNotFound)
    }
}
