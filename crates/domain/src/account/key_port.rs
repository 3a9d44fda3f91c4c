//! The store of API keys.

use async_trait::async_trait;

use super::agent::Agent;
use super::key::{KeyDigest, KeyRecord, NewKey, StoredKey};
use crate::audit::Actor;
use crate::id::{AgentId, ApiKeyId, ParticipantId, UserId};
use crate::page::{Page, PageRequest};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// How many keys that are not revoked one human may have.
pub const MAX_KEYS: u32 = 100;

/// One more key of a human.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewUserKey {
    /// Whose.
    pub user: UserId,
    /// Who makes it.
    pub by: Actor,
    /// The key.
    pub key: NewKey,
    /// When.
    pub now: Timestamp,
}

/// Why a key was not stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CreateKeyRefused {
    /// The human has [`MAX_KEYS`] already.
    TooMany,
    /// There is no such human any more.
    UserGone,
}

/// Which keys are meant; only those that are not revoked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhichKeys {
    /// The one with this id, if it is this holder's.
    Own(ParticipantId, ApiKeyId),
    /// The one with this id, whoever holds it.
    Id(ApiKeyId),
    /// Whatever begins like this, see [`KeyRecord::prefix`].
    Prefix(String),
    /// All of one holder.
    AllOf(ParticipantId),
}

/// Keys to be revoked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RevokeKeys {
    /// Which.
    pub which: WhichKeys,
    /// Who revokes them.
    pub by: Actor,
    /// When.
    pub now: Timestamp,
}

/// An agent that is to get another key in the place of all that it has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RotateKey {
    /// Which.
    pub agent: AgentId,
    /// Whose it has to be.
    pub owner: UserId,
    /// Who asks.
    pub by: Actor,
    /// Its new key.
    pub key: NewKey,
    /// When.
    pub now: Timestamp,
}

/// An agent has another key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RotatedKey {
    /// The agent.
    pub agent: Agent,
    /// The keys that it had.
    pub revoked: Vec<ApiKeyId>,
}

/// Why an agent's key was not rotated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RotateKeyRefused {
    /// The owner has no such agent.
    AgentNotFound,
    /// The service runs it, so it has no key.
    HasNoKey,
}

/// When a key was used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyUse {
    /// Which.
    pub key: ApiKeyId,
    /// When.
    pub at: Timestamp,
}

/// API keys.
#[async_trait]
pub trait KeyRepository: Send + Sync {
    /// The key with this digest, and whom it stands for, unless it is revoked.
    async fn find_key(&self, digest: KeyDigest) -> Result<Option<StoredKey>, StoreError>;

    /// Notes when keys were used last; what is known to be later stays, and a key may be gone.
    async fn note_uses(&self, uses: Vec<KeyUse>) -> Result<(), StoreError>;

    /// The keys of a holder that are not revoked, newest first; the position is (time, id).
    async fn list_keys(
        &self,
        holder: ParticipantId,
        page: PageRequest,
    ) -> Result<Page<KeyRecord>, StoreError>;

    /// Stores one more key of a human.
    async fn create_key(&self, new: NewUserKey) -> Result<Result<KeyRecord, CreateKeyRefused>, StoreError>;

    /// Revokes keys and gives them, oldest first; none if there are none.
    async fn revoke_keys(
        &self,
        command: RevokeKeys,
        on_commit: OnCommit<Vec<KeyRecord>>,
    ) -> Result<Vec<KeyRecord>, StoreError>;

    /// Gives an agent another key, and revokes in the same moment all that it has.
    async fn rotate_key(
        &self,
        command: RotateKey,
        on_commit: OnCommit<RotatedKey>,
    ) -> Result<Result<RotatedKey, RotateKeyRefused>, StoreError>;
}
