//! Revoking API keys: good for nothing from that moment on, and whatever was opened with them ends.
//!
//! Also the last key of a human may be revoked; the operator can make another.

use super::key::KeyRecord;
use super::key_port::{RevokeKeys, WhichKeys};
use super::service::AccountService;
use crate::audit::Actor;
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::{ApiKeyId, ParticipantId};
use crate::store::{OnCommit, StoreError};

/// Why a key was not revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeKeyError {
    /// The caller has no such key, or not any more.
    #[error("there is no such key of the caller")]
    KeyNotFound,
    /// The store gave no answer.
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

    /// Revokes keys, whoever holds them: for the operator. Gives those that it has found.
    pub async fn revoke_keys(&self, which: WhichKeys) -> Result<Vec<KeyRecord>, StoreError> {
        self.revoke(which, Actor::Operator).await
    }

    async fn revoke(&self, which: WhichKeys, by: Actor) -> Result<Vec<KeyRecord>, StoreError> {
        let command = RevokeKeys { which, by, now: self.clock.now() };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |revoked: &Vec<KeyRecord>| {
            for key in revoked {
                events.publish(DomainEvent::KeyRevoked { key: key.id });
            }
        });
        self.keys.revoke_keys(command, on_commit).await
    }

    /// The keys that begin like `text`, which may also be the whole of a key.
    pub fn keys_like(&self, text: &str) -> WhichKeys {
        WhichKeys::Prefix(self.mint.prefix(text))
    }
}
