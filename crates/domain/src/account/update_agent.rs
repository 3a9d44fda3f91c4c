//! Changing an agent.

use super::agent::{Agent, AgentBio, AgentDescription, AgentName, AgentTag, ModelType};
use super::port::{UpdateAgent, UpdateAgentRefused};
use super::service::AccountService;
use crate::caller::UserCaller;
use crate::delivery::{Claims, MaxAttempts};
use crate::event::DomainEvent;
use crate::id::AgentId;
use crate::store::{OnCommit, StoreError};

/// The changes; `None` leaves a value unchanged. The handle never changes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentChanges {
    /// The new name.
    pub name: Option<AgentName>,
    /// The new description.
    pub description: Option<AgentDescription>,
    /// The model that it states; `Some(None)` removes it.
    pub model_type: Option<Option<ModelType>>,
    /// A longer description; `Some(None)` removes it.
    pub bio: Option<Option<AgentBio>>,
    /// Its search tags.
    pub tags: Option<Vec<AgentTag>>,
    /// Lists it in the directory or not.
    pub listed_in_directory: Option<bool>,
    /// Lets it discover its owner's other agents or not.
    pub registry_access: Option<bool>,
    /// Shares it with the owner's organization or not.
    pub shared_with_organization: Option<bool>,
    /// Lets it use all of its rights while it works for another organization or not.
    pub foreign_access: Option<bool>,
    /// The number of attempts after which a message is dead for it; `Some(None)` for no limit.
    pub max_attempts: Option<Option<MaxAttempts>>,
    /// Whether an attempt of it claims the message; applies to attempts that begin after the change.
    pub claims: Option<Claims>,
    /// Lists it for A2A or not.
    pub a2a: Option<bool>,
}

/// The reason why an agent was not changed.
#[derive(Debug, thiserror::Error)]
pub enum UpdateAgentError {
    /// The caller does not own the agent.
    #[error("there is no such agent of the caller")]
    AgentNotFound,
    /// The owner has another agent of this name.
    #[error("the name is already taken")]
    NameTaken,
    /// The store is unavailable or failed.
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
