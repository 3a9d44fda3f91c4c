//! Creating agents: registering an external one, and creating a platform agent.

use super::agent::{Agent, AgentDescription, AgentName, ModelType, NewAgent, NewRun};
use super::handle::Slug;
use super::key::{ApiKey, KeyKind};
use super::key_port::KeyClaimRefused;
use super::port::{RegisterRefused, StoredAgent};
use super::service::AccountService;
use crate::audit::Actor;
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::{AgentId, UserId};
use crate::idempotency::{IdempotentRequest, KeyedRequest, Operation};
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
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The key that the repeated request created is used or revoked.
    #[error("the key that this request created is used or revoked")]
    KeySpent,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<RegisterRefused> for RegisterError {
    fn from(refused: RegisterRefused) -> Self {
        match refused {
            RegisterRefused::Limit(reached) => reached.into(),
            RegisterRefused::NameTaken => Self::NameTaken,
            RegisterRefused::OwnerGone => Self::OwnerGone,
            RegisterRefused::Claim(KeyClaimRefused::KeyReused) => Self::KeyReused,
            RegisterRefused::Claim(KeyClaimRefused::KeySpent) => Self::KeySpent,
        }
    }
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
        self.register_agent_once(caller, command, None).await
    }

    /// Like [`Self::register_agent`], but if the same request has registered an agent whose key nobody has used, that
    /// agent gets another key.
    pub async fn register_agent_once(
        &self,
        caller: UserCaller,
        command: RegisterAgent,
        once: Option<IdempotentRequest>,
    ) -> Result<RegisteredAgent, RegisterError> {
        self.register_agent_by(caller.user.into(), caller.user, command, once).await
    }

    /// Registers an agent, on behalf of any actor.
    pub async fn register_agent_by(
        &self,
        by: Actor,
        owner: UserId,
        command: RegisterAgent,
        once: Option<IdempotentRequest>,
    ) -> Result<RegisteredAgent, RegisterError> {
        let now = self.clock.now();
        let key = self.mint.mint(KeyKind::Agent, now);
        let new_key = self.new_key(&key, now);
        let expires_at = new_key.expires_at;
        let keyed = KeyedRequest::for_key(owner, Operation::RegisterAgent, None, once);
        let new = NewAgent {
            id: AgentId::new(self.ids.generate(now)),
            owner,
            by,
            slug: Slug::from_name(command.name.as_str()),
            name: command.name,
            description: Some(command.description),
            model_type: None,
            run: NewRun::External(new_key),
            keyed,
            now,
        };
        let StoredAgent { agent, renewed } = self.store_agent(new).await??;
        let expires_at = renewed.map_or(expires_at, |renewed| renewed.record.expires_at);
        Ok(RegisteredAgent { agent, key, expires_at })
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
            keyed: None,
            now,
        };
        Ok(self.store_agent(new).await??.agent)
    }

    async fn store_agent(&self, new: NewAgent) -> Result<Result<StoredAgent, RegisterRefused>, StoreError> {
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |stored: &StoredAgent| match &stored.renewed {
            None => events.publish(DomainEvent::AgentCreated { agent: stored.agent.clone() }),
            Some(renewed) => {
                if let Some(key) = renewed.replaces {
                    events.publish(DomainEvent::KeyRevoked { key });
                }
            }
        });
        self.accounts.register_agent(new, on_commit).await
    }
}
