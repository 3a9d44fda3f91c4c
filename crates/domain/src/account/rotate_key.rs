//! Rotating the key of an agent: the old one is invalid from the same moment on.

use super::key::KeyKind;
use super::key_port::{KeyClaimRefused, RotateKey, RotateKeyRefused, RotatedKey};
use super::register::RegisteredAgent;
use super::service::AccountService;
use crate::audit::Actor;
use crate::event::DomainEvent;
use crate::id::{AgentId, UserId};
use crate::idempotency::{IdempotentRequest, KeyedRequest, Operation};
use crate::store::{OnCommit, StoreError};

/// The reason why an agent's key was not rotated.
#[derive(Debug, thiserror::Error)]
pub enum RotateKeyError {
    /// The agent does not belong to the owner.
    #[error("there is no such agent of this owner")]
    AgentNotFound,
    /// The service runs it.
    #[error("an agent that is run by the service has no key")]
    HasNoKey,
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

impl AccountService {
    /// Replaces all keys of an agent of `owner` by a new one, on the owner's request.
    pub async fn rotate_key(&self, owner: UserId, agent: AgentId) -> Result<RegisteredAgent, RotateKeyError> {
        self.rotate_key_once(owner, agent, None).await
    }

    /// Like [`Self::rotate_key`], but if the same request has created a key that nobody has used, that is replaced.
    pub async fn rotate_key_once(
        &self,
        owner: UserId,
        agent: AgentId,
        once: Option<IdempotentRequest>,
    ) -> Result<RegisteredAgent, RotateKeyError> {
        self.rotate_key_by(owner.into(), owner, agent, once).await
    }

    /// Does the same on behalf of any actor.
    pub async fn rotate_key_by(
        &self,
        by: Actor,
        owner: UserId,
        agent: AgentId,
        once: Option<IdempotentRequest>,
    ) -> Result<RegisteredAgent, RotateKeyError> {
        let now = self.clock.now();
        let key = self.mint.mint(KeyKind::Agent, now);
        let new_key = self.new_key(&key, now);
        let keyed = KeyedRequest::for_key(owner, Operation::RotateKey, Some(agent), once);
        let command = RotateKey { agent, owner, by, key: new_key, keyed, now };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |rotated: &RotatedKey| {
            for key in &rotated.revoked {
                events.publish(DomainEvent::KeyRevoked { key: *key });
            }
        });
        match self.keys.rotate_key(command, on_commit).await? {
            Ok(RotatedKey { agent, expires_at, .. }) => Ok(RegisteredAgent { agent, key, expires_at }),
            Err(RotateKeyRefused::AgentNotFound) => Err(RotateKeyError::AgentNotFound),
            Err(RotateKeyRefused::HasNoKey) => Err(RotateKeyError::HasNoKey),
            Err(RotateKeyRefused::Claim(KeyClaimRefused::KeyReused)) => Err(RotateKeyError::KeyReused),
            Err(RotateKeyRefused::Claim(KeyClaimRefused::KeySpent)) => Err(RotateKeyError::KeySpent),
        }
    }
}
