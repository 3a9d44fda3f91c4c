//! Creating agents: registering an external one, and creating a platform agent.

use super::agent::{Agent, AgentDescription, AgentName, ModelType, NewAgent, NewRun};
use super::handle::Slug;
use super::key::{ApiKey, KeyKind};
use super::port::RegisterRefused;
use super::service::AccountService;
use crate::audit::Actor;
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::{AgentId, UserId};
use crate::plan::LimitReached;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The owner's description of the agent.
#[derive(Clone, Debug)]
pub struct RegisterAgent {
    /// Its name.
    pub name: AgentName,
    /// The description.
    pub description: AgentDescription,
}

/// A registered agent with its key, which is shown only here.
#[derive(Clone, Debug)]
pub struct RegisteredAgent {
    /// The agent.
    pub agent: Agent,
    /// Its API key.
    pub key: ApiKey,
    /// The expiry of the key; `None` for never.
    pub expires_at: Option<Timestamp>,
}

/// The reason why an agent was not registered.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// The owner already has an agent of this name.
    #[error("the name is already taken")]
    NameTaken,
    /// The organization has as many agents as its plan allows.
    #[error(transparent)]
    Limit(#[from] LimitReached),
    /// The caller's account was deleted.
    #[error("the owner's account is gone")]
    OwnerGone,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A platform agent to be created.
#[derive(Clone, Debug)]
pub struct CreatePlatformAgent {
    /// Its name.
    pub name: AgentName,
    /// The description.
    pub description: Option<AgentDescription>,
    /// Its model.
    pub model_type: Option<ModelType>,
}

impl AccountService {
    /// Registers an agent of `caller`, and creates its key.
    pub async fn register_agent(
        &self,
        caller: UserCaller,
        command: RegisterAgent,
    ) -> Result<RegisteredAgent, RegisterError> {
        self.register_agent_by(caller.user.into(), caller.user, command).await
    }

    /// Registers an agent, on behalf of any actor.
    pub async fn register_agent_by(
        &self,
        by: Actor,
        owner: UserId,
        command: RegisterAgent,
    ) -> Result<RegisteredAgent, RegisterError> {
        let now = self.clock.now();
        let key = self.mint.mint(KeyKind::Agent, now);
        let new_key = self.new_key(&key, now);
        let expires_at = new_key.expires_at;
        let new = NewAgent {
            id: AgentId::new(self.ids.generate(now)),
            owner,
            by,
            slug: Slug::from_name(command.name.as_str()),
            name: command.name,
            description: Some(command.description),
            model_type: None,
            run: NewRun::External(new_key),
            now,
        };
        Ok(RegisteredAgent { agent: self.store_agent(new).await?, key, expires_at })
    }

    /// Creates an agent of `caller` without a key.
    pub async fn create_platform_agent(
        &self,
        caller: UserCaller,
        command: CreatePlatformAgent,
    ) -> Result<Agent, RegisterError> {
        let now = self.clock.now();
        let new = NewAgent {
            id: AgentId::new(self.ids.generate(now)),
            owner: caller.user,
            by: caller.user.into(),
            slug: Slug::from_name(command.name.as_str()),
            name: command.name,
            description: command.description,
            model_type: command.model_type,
            run: NewRun::Platform,
            now,
        };
        self.store_agent(new).await
    }

    async fn store_agent(&self, new: NewAgent) -> Result<Agent, RegisterError> {
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |agent: &Agent| {
            events.publish(DomainEvent::AgentCreated { agent: agent.clone() });
        });
        match self.accounts.register_agent(new, on_commit).await? {
            Ok(agent) => Ok(agent),
            Err(RegisterRefused::Limit(reached)) => Err(reached.into()),
            Err(RegisterRefused::NameTaken) => Err(RegisterError::NameTaken),
            Err(RegisterRefused::OwnerGone) => Err(RegisterError::OwnerGone),
        }
    }
}
