//! The store of records of files.

mod attach;
mod keep;
#[path = "../../../sql-rows/file.rs"]
mod row;

use async_trait::async_trait;
use domain::file::{
    File, FileDigest, FileLimits, FileRepository, NewFile, StoreFileRefused, StoredBytes, StoredFile,
};
use domain::id::{ChatId, FileId, ParticipantId};
use domain::store::StoreError;
use domain::time::Timestamp;

pub(crate) use attach::{attach_on, detach_on, expire_on, fill_on, found_on};
pub(crate) use row::Attached;

use crate::SqliteStore;

#[async_trait]
impl FileRepository for SqliteStore {
    async fn stored_bytes(
        &self,
        who: ParticipantId,
        chat: ChatId,
        digest: FileDigest,
        limits: FileLimits,
        now: Timestamp,
    ) -> Result<Option<StoredBytes>, StoreError> {
        self.read(move |connection| keep::stored_bytes_on(connection, who, chat, digest, &limits, now)).await
    }

    async fn store_file(&self, new: NewFile) -> Result<Result<StoredFile, StoreFileRefused>, StoreError> {
        self.change(move |connection| keep::store_on(connection, &new), |_| ()).await
    }

    async fn find_file(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        file: FileId,
        now: Timestamp,
    ) -> Result<Option<File>, StoreError> {
        self.read(move |connection| keep::find_on(connection, viewer, chat, file, now)).await
    }

    async fn expired_files(&self, before: Timestamp, limit: u32) -> Result<Vec<FileId>, StoreError> {
        self.read(move |connection| keep::expired_on(connection, before, limit)).await
    }

    async fn forget_files(&self, files: Vec<FileId>, before: Timestamp) -> Result<(), StoreError> {
        self.alter(move |connection| keep::forget_on(connection, &files, before)).await
    }

    async fn recorded_files(&self, files: Vec<FileId>) -> Result<Vec<FileId>, StoreError> {
        self.read(move |connection| keep::recorded_on(connection, &files)).await
    }
}
