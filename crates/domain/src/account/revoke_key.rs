//! Revoking API keys: they are invalid from that moment on, and everything opened with them ends.
//!
//! The last key of a human can be revoked too; the operator can create another.

use super::key::KeyRecord;
use super::key_port::{RevokeKeys, WhichKeys};
use super::service::AccountService;
use crate::audit::Actor;
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::{ApiKeyId, ParticipantId};
use crate::store::{OnCommit, StoreError};

/// The reason why a key was not revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeKeyError {
    /// The caller does not have the key, or not any more.
    #[error("there is no such key of the caller")]
    KeyNotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AccountService {
    /// Revokes a key of the caller.
    pub async fn revoke_key(&self, caller: UserCaller, key: ApiKeyId) -> Result<KeyRecord, RevokeKeyError> {
        let which = WhichKeys::Own(ParticipantId::User(caller.user), key);
        let by = Actor::from(caller.user);
        self.revoke(which, by).await?.pop().ok_or(RevokeKeyError::KeyNotFound)
    }

    /// Revokes keys of any holder, for the operator. Returns those that it has found.
    pub async fn revoke_keys(&self, which: WhichKeys) -> Result<Vec<KeyRecord>, StoreError> {
        self.revoke(which, Actor::Operator).await
    }

    pub(super) async fn revoke(&self, which: WhichKeys, by: Actor) -> Result<Vec<KeyRecord>, StoreError> {
        let command = RevokeKeys { which, by, now: self.clock.now() };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |revoked: &Vec<KeyRecord>| {
            for key in revoked {
                events.publish(DomainEvent::KeyRevoked { key: key.id });
            }
        });
        self.keys.revoke_keys(command, on_commit).await
    }

    /// The keys whose prefix is `text`, which may also be a complete key.
    pub fn keys_like(&self, text: &str) -> WhichKeys {
        WhichKeys::Prefix(self.mint.prefix(text))
    }
}
