//! The store of API keys.

use async_trait::async_trait;
use diesel::sqlite::SqliteConnection;
use domain::account::{
    CreateKeyRefused, KeyDigest, KeyRecord, KeyRepository, KeyUse, MadeKey, NewUserKey, RevokeKeys,
    RotateKey, RotateKeyRefused, RotatedKey, StoredKey,
};
use domain::id::{AgentId, ParticipantId};
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};

use super::{find, keys};
use crate::SqliteStore;

#[async_trait]
impl KeyRepository for SqliteStore {
    async fn find_key(&self, digest: KeyDigest) -> Result<Option<StoredKey>, StoreError> {
        self.read(move |connection| find::key_on(connection, digest)).await
    }

    async fn find_agent_of_revoked_key(&self, digest: KeyDigest) -> Result<Option<AgentId>, StoreError> {
        self.read(move |connection| find::agent_of_revoked_key_on(connection, digest)).await
    }

    async fn note_uses(&self, uses: Vec<KeyUse>) -> Result<(), StoreError> {
        self.alter(move |connection| keys::note_uses_on(connection, &uses)).await
    }

    async fn list_keys(
        &self,
        holder: ParticipantId,
        page: PageRequest,
    ) -> Result<Page<KeyRecord>, StoreError> {
        self.read(move |connection| keys::list_on(connection, holder, &page)).await
    }

    async fn create_key(
        &self,
        new: NewUserKey,
        on_commit: OnCommit<MadeKey>,
    ) -> Result<Result<MadeKey, CreateKeyRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| keys::create_on(connection, &new);
        self.change(work, |made| on_commit.run(made)).await
    }

    async fn revoke_keys(
        &self,
        command: RevokeKeys,
        on_commit: OnCommit<Vec<KeyRecord>>,
    ) -> Result<Vec<KeyRecord>, StoreError> {
        self.alter_announced(
            move |connection| keys::revoke_on(connection, &command),
            |revoked| on_commit.run(revoked),
        )
        .await
    }

    async fn rotate_key(
        &self,
        command: RotateKey,
        on_commit: OnCommit<RotatedKey>,
    ) -> Result<Result<RotatedKey, RotateKeyRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| keys::rotate_on(connection, &command);
        self.change(work, |rotated| on_commit.run(rotated)).await
    }
}
