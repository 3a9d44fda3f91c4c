//! The store of API keys.

use async_trait::async_trait;
use domain::account::{
    CreateKeyRefused, KeyDigest, KeyRecord, KeyRepository, KeyUse, MadeKey, NewUserKey, RevokeKeys,
    RotateKey, RotateKeyRefused, RotatedKey, StoredKey,
};
use domain::id::{AgentId, ParticipantId};
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};
use futures_util::FutureExt;

use super::{find, keys};
use crate::PostgresStore;

#[async_trait]
impl KeyRepository for PostgresStore {
    async fn find_key(&self, digest: KeyDigest) -> Result<Option<StoredKey>, StoreError> {
        self.query(digest, |db, digest| find::key_on(db, *digest).boxed()).await
    }

    async fn find_agent_of_revoked_key(&self, digest: KeyDigest) -> Result<Option<AgentId>, StoreError> {
        self.query(digest, |db, digest| find::agent_of_revoked_key_on(db, *digest).boxed()).await
    }

    async fn note_uses(&self, uses: Vec<KeyUse>) -> Result<(), StoreError> {
        self.alter(uses, |db, uses| keys::note_uses_on(db, uses).boxed()).await
    }

    async fn list_keys(
        &self,
        holder: ParticipantId,
        page: PageRequest,
    ) -> Result<Page<KeyRecord>, StoreError> {
        self.read((holder, page), |db, (holder, page)| keys::list_on(db, *holder, page).boxed()).await
    }

    async fn create_key(
        &self,
        new: NewUserKey,
        on_commit: OnCommit<MadeKey>,
    ) -> Result<Result<MadeKey, CreateKeyRefused>, StoreError> {
        let announce = |made: &MadeKey| on_commit.run(made);
        self.change(new, |db, new| keys::create_on(db, new).boxed(), announce).await
    }

    async fn revoke_keys(
        &self,
        command: RevokeKeys,
        on_commit: OnCommit<Vec<KeyRecord>>,
    ) -> Result<Vec<KeyRecord>, StoreError> {
        let announce = |revoked: &Vec<KeyRecord>| on_commit.run(revoked);
        self.alter_announced(command, |db, command| keys::revoke_on(db, command).boxed(), announce).await
    }

    async fn rotate_key(
        &self,
        command: RotateKey,
        on_commit: OnCommit<RotatedKey>,
    ) -> Result<Result<RotatedKey, RotateKeyRefused>, StoreError> {
        let announce = |rotated: &RotatedKey| on_commit.run(rotated);
        self.change(command, |db, command| keys::rotate_on(db, command).boxed(), announce).await
    }
}
