//! Creating another API key of a human.

use super::key::{ApiKey, KeyKind, KeyName, KeyRecord, NewKey};
use super::key_port::{CreateKeyRefused, KeyClaimRefused, MAX_KEYS, MadeKey, NewUserKey};
use super::scope::KeyScope;
use super::service::AccountService;
use crate::audit::Actor;
use crate::event::DomainEvent;
use crate::id::{ApiKeyId, ParticipantId, UserId};
use crate::idempotency::{IdempotentRequest, KeyedRequest, Operation};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// A key to be made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CreateKey {
    /// Its name.
    pub name: Option<KeyName>,
    /// The expiry; `None` for the default, see [`AccountService::with_key_days`].
    pub expires_at: Option<Timestamp>,
    /// Its scope.
    pub scope: KeyScope,
}

/// A new key, the secret included.
#[derive(Clone, Debug)]
pub struct CreatedKey {
    /// The stored record.
    pub record: KeyRecord,
    /// The secret, which is shown only here.
    pub key: ApiKey,
}

/// The reason why no key was created.
#[derive(Debug, thiserror::Error)]
pub enum CreateKeyError {
    /// The expiry is in the past.
    #[error("the expiry of a key must be in the future")]
    ExpiryPast,
    /// The human has the maximum number of keys.
    #[error("there are already {MAX_KEYS} keys; revoke one that is no longer needed")]
    TooMany,
    /// The agent of the scope is not the human's.
    #[error("the user has no such agent")]
    AgentNotFound,
    /// The human cannot read the chat of the scope, or it does not exist.
    #[error("there is no such chat for the user")]
    ChatNotFound,
    /// The human's account was deleted.
    #[error("there is no such user")]
    UserGone,
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
    /// Creates another key for a human, on the human's own request.
    pub async fn create_key(&self, user: UserId, command: CreateKey) -> Result<CreatedKey, CreateKeyError> {
        self.create_key_once(user, command, None).await
    }

    /// Like [`Self::create_key`], but if the same request has created a key that nobody has used, that is replaced.
    pub async fn create_key_once(
        &self,
        user: UserId,
        command: CreateKey,
        once: Option<IdempotentRequest>,
    ) -> Result<CreatedKey, CreateKeyError> {
        self.create_key_by(user.into(), user, command, once).await
    }

    /// Creates another key for a human, on behalf of any actor.
    pub async fn create_key_by(
        &self,
        by: Actor,
        user: UserId,
        command: CreateKey,
        once: Option<IdempotentRequest>,
    ) -> Result<CreatedKey, CreateKeyError> {
        let now = self.clock.now();
        if command.expires_at.is_some_and(|until| until <= now) {
            return Err(CreateKeyError::ExpiryPast);
        }
        if let Some(agent) = command.scope.agent {
            let found = self.accounts.find_agent(agent).await?;
            found.filter(|found| found.owner == user).ok_or(CreateKeyError::AgentNotFound)?;
        }
        if let Some(chat) = command.scope.chat
            && !self.participants.entrance(ParticipantId::User(user), chat).await?.standing.may_read()
        {
            return Err(CreateKeyError::ChatNotFound);
        }
        let key = self.mint.mint(KeyKind::User, now);
        let new = self.new_key(&key, now);
        let expires_at = command.expires_at.or(new.expires_at);
        let new = NewKey { name: command.name, expires_at, scope: command.scope, ..new };
        let keyed = KeyedRequest::for_key(user, Operation::CreateKey, None, once);
        let new = NewUserKey { user, by, key: new, keyed, now };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |made: &MadeKey| {
            if let Some(key) = made.replaces {
                events.publish(DomainEvent::KeyRevoked { key });
            }
        });
        match self.keys.create_key(new, on_commit).await? {
            Ok(made) => Ok(CreatedKey { record: made.record, key }),
            Err(CreateKeyRefused::TooMany) => Err(CreateKeyError::TooMany),
            Err(CreateKeyRefused::UserGone) => Err(CreateKeyError::UserGone),
            Err(CreateKeyRefused::Claim(KeyClaimRefused::KeyReused)) => Err(CreateKeyError::KeyReused),
            Err(CreateKeyRefused::Claim(KeyClaimRefused::KeySpent)) => Err(CreateKeyError::KeySpent),
        }
    }

    /// A key to be stored: without a name and scope, and with the default expiry.
    pub(super) fn new_key(&self, key: &ApiKey, now: Timestamp) -> NewKey {
        NewKey {
            id: ApiKeyId::new(self.ids.generate(now)),
            digest: key.digest(),
            prefix: self.mint.prefix(key.reveal()),
            name: None,
            expires_at: self.key_lifetime.map(|lifetime| now.plus(lifetime)),
            scope: KeyScope::default(),
        }
    }
}
