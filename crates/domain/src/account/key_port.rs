//! The store of API keys.

use async_trait::async_trait;

use super::agent::Agent;
use super::key::{KeyDigest, KeyRecord, NewKey, StoredKey};
use crate::audit::Actor;
use crate::id::{AgentId, ApiKeyId, ParticipantId, UserId};
use crate::idempotency::KeyedRequest;
use crate::page::{Page, PageRequest};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The maximum number of keys of one human that are not revoked.
pub const MAX_KEYS: u32 = 100;

/// Another key of a human.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewUserKey {
    /// The user.
    pub user: UserId,
    /// The creator.
    pub by: Actor,
    /// The key.
    pub key: NewKey,
    /// Set if the request may be repeated; its record is the key.
    pub keyed: Option<KeyedRequest>,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why a key was not stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CreateKeyRefused {
    /// The human has [`MAX_KEYS`] already.
    TooMany,
    /// The human was deleted.
    UserGone,
    /// The idempotency key cannot be claimed.
    Claim(KeyClaimRefused),
}

/// The reason why a request with an idempotency key makes no key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyClaimRefused {
    /// The idempotency key was used for another request.
    KeyReused,
    /// The key that the same request made is used, revoked, or gone ([`KeyRecord::decide_replace`]).
    KeySpent,
}

/// A key that a request made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MadeKey {
    /// The key.
    pub record: KeyRecord,
    /// The key that the same request made before, which is revoked.
    pub replaces: Option<ApiKeyId>,
}

/// A selection of keys, without revoked ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhichKeys {
    /// The one with this id, if this holder has it.
    Own(ParticipantId, ApiKeyId),
    /// The one with this id, of any holder.
    Id(ApiKeyId),
    /// Those with this prefix, see [`KeyRecord::prefix`].
    Prefix(String),
    /// All of one holder.
    AllOf(ParticipantId),
}

/// Keys to be revoked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RevokeKeys {
    /// The selection.
    pub which: WhichKeys,
    /// The actor, for the audit log.
    pub by: Actor,
    /// The current time.
    pub now: Timestamp,
}

/// An agent whose keys are to be replaced by a new one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RotateKey {
    /// The agent.
    pub agent: AgentId,
    /// The required owner.
    pub owner: UserId,
    /// The caller.
    pub by: Actor,
    /// Its new key.
    pub key: NewKey,
    /// Set if the request may be repeated; its record is the key.
    pub keyed: Option<KeyedRequest>,
    /// The current time.
    pub now: Timestamp,
}

/// A rotated key of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RotatedKey {
    /// The agent.
    pub agent: Agent,
    /// The expiry of its new key; `None` for never.
    pub expires_at: Option<Timestamp>,
    /// The revoked keys.
    pub revoked: Vec<ApiKeyId>,
}

/// The reason why an agent's key was not rotated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RotateKeyRefused {
    /// The agent does not belong to the owner.
    AgentNotFound,
    /// The service runs it, so it has no key.
    HasNoKey,
    /// The idempotency key cannot be claimed.
    Claim(KeyClaimRefused),
}

/// A use of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyUse {
    /// The key.
    pub key: ApiKeyId,
    /// The time of the use.
    pub at: Timestamp,
}

/// API keys.
#[async_trait]
pub trait KeyRepository: Send + Sync {
    /// The key with this digest and its holder, unless it is revoked.
    async fn find_key(&self, digest: KeyDigest) -> Result<Option<StoredKey>, StoreError>;

    /// The agent that had this key, if it was revoked and the agent is not deleted.
    async fn find_agent_of_revoked_key(&self, digest: KeyDigest) -> Result<Option<AgentId>, StoreError>;

    /// Records the last uses of keys, each at most once; a later recorded use stays, and a key may be gone.
    async fn note_uses(&self, uses: Vec<KeyUse>) -> Result<(), StoreError>;

    /// The keys of a holder that are not revoked, newest first; the position is (time, id).
    async fn list_keys(
        &self,
        holder: ParticipantId,
        page: PageRequest,
    ) -> Result<Page<KeyRecord>, StoreError>;

    /// Stores another key of a human, or replaces the one that the same request made
    /// ([`KeyRecord::decide_replace`]). Of many concurrent repetitions, the key of the last one stays.
    async fn create_key(
        &self,
        new: NewUserKey,
        on_commit: OnCommit<MadeKey>,
    ) -> Result<Result<MadeKey, CreateKeyRefused>, StoreError>;

    /// Revokes keys and returns them, oldest first; none if there are none.
    async fn revoke_keys(
        &self,
        command: RevokeKeys,
        on_commit: OnCommit<Vec<KeyRecord>>,
    ) -> Result<Vec<KeyRecord>, StoreError>;

    /// Gives an agent a new key, and revokes all its others in the same write. A repetition replaces the key that the
    /// request made, like [`Self::create_key`].
    async fn rotate_key(
        &self,
        command: RotateKey,
        on_commit: OnCommit<RotatedKey>,
    ) -> Result<Result<RotatedKey, RotateKeyRefused>, StoreError>;
}
