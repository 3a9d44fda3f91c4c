//! Making one more API key of a human.

use super::key::{ApiKey, KeyKind, KeyName, KeyRecord, NewKey};
use super::key_port::{CreateKeyRefused, MAX_KEYS, NewUserKey};
use super::scope::KeyScope;
use super::service::AccountService;
use crate::audit::Actor;
use crate::id::{ApiKeyId, UserId};
use crate::store::StoreError;
use crate::time::Timestamp;

/// A key to be made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CreateKey {
    /// What its holder calls it.
    pub name: Option<KeyName>,
    /// When it expires; `None` for the default, see [`AccountService::with_key_days`].
    pub expires_at: Option<Timestamp>,
    /// What it may be used for. The edge has checked that the user may read the chat.
    pub scope: KeyScope,
}

/// A new key, the secret included.
#[derive(Clone, Debug)]
pub struct CreatedKey {
    /// As it is stored.
    pub record: KeyRecord,
    /// The only sight of the secret.
    pub key: ApiKey,
}

/// Why no key was made.
#[derive(Debug, thiserror::Error)]
pub enum CreateKeyError {
    /// It would have expired already.
    #[error("the expiry of a key must be in the future")]
    ExpiryPast,
    /// The human has as many keys as anybody may have.
    #[error("there are already {MAX_KEYS} keys; revoke one that is no longer needed")]
    TooMany,
    /// The agent that the key is to be limited to is not the human's.
    #[error("the user has no such agent")]
    AgentNotFound,
    /// The human's account is gone.
    #[error("there is no such user")]
    UserGone,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AccountService {
    /// Makes one more key for a human, who asks for it.
    pub async fn create_key(&self, user: UserId, command: CreateKey) -> Result<CreatedKey, CreateKeyError> {
        self.create_key_by(user.into(), user, command).await
    }

    /// Makes one more key for a human, whoever asks for it.
    pub async fn create_key_by(
        &self,
        by: Actor,
        user: UserId,
        command: CreateKey,
    ) -> Result<CreatedKey, CreateKeyError> {
        let now = self.clock.now();
        if command.expires_at.is_some_and(|until| until <= now) {
            return Err(CreateKeyError::ExpiryPast);
        }
        if let Some(agent) = command.scope.agent {
            let found = self.accounts.find_agent(agent).await?;
            found.filter(|found| found.owner == user).ok_or(CreateKeyError::AgentNotFound)?;
        }
        let key = self.mint.mint(KeyKind::User, now);
        let new = self.new_key(&key, now);
        let expires_at = command.expires_at.or(new.expires_at);
        let new = NewKey { name: command.name, expires_at, scope: command.scope, ..new };
        match self.keys.create_key(NewUserKey { user, by, key: new, now }).await? {
            Ok(record) => Ok(CreatedKey { record, key }),
            Err(CreateKeyRefused::TooMany) => Err(CreateKeyError::TooMany),
            Err(CreateKeyRefused::UserGone) => Err(CreateKeyError::UserGone),
        }
    }

    /// A key as it is to be stored: without a name and limits, and with the default expiry.
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
