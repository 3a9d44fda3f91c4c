//! Registering an external agent.

use super::agent::{Agent, AgentDescription, AgentName, NewAgent};
use super::handle::Slug;
use super::key::{ApiKey, KeyKind, NewKey};
use super::port::RegisterRefused;
use super::service::AccountService;
use crate::caller::UserCaller;
use crate::id::{AgentId, ApiKeyId};
use crate::store::StoreError;

/// What the owner says about the agent.
#[derive(Clone, Debug)]
pub struct RegisterAgent {
    /// Its name.
    pub name: AgentName,
    /// What it is for.
    pub description: AgentDescription,
}

/// A registered agent and the one and only sight of its key.
#[derive(Clone, Debug)]
pub struct RegisteredAgent {
    /// The agent.
    pub agent: Agent,
    /// Its API key.
    pub key: ApiKey,
}

/// Why an agent was not registered.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// The owner has an agent of this name already.
    #[error("the name is already taken")]
    NameTaken,
    /// The caller's account is gone.
    #[error("the owner's account is gone")]
    OwnerGone,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AccountService {
    /// Registers an agent that `caller` owns, and makes its key.
    pub async fn register_agent(
        &self,
        caller: UserCaller,
        command: RegisterAgent,
    ) -> Result<RegisteredAgent, RegisterError> {
        let now = self.clock.now();
        let key = self.keys.mint(KeyKind::Agent, now);
        let new = NewAgent {
            id: AgentId::new(self.ids.generate(now)),
            owner: caller.user,
            slug: Slug::from_name(command.name.as_str()),
            name: command.name,
            description: command.description,
            key: NewKey { id: ApiKeyId::new(self.ids.generate(now)), digest: key.digest() },
            now,
        };
        match self.accounts.register_agent(new).await? {
            Ok(agent) => Ok(RegisteredAgent { agent, key }),
            Err(RegisterRefused::NameTaken) => Err(RegisterError::NameTaken),
            Err(RegisterRefused::OwnerGone) => Err(RegisterError::OwnerGone),
        }
    }
}
