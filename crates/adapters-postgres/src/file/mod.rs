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
use futures_util::FutureExt;

pub(crate) use attach::{attach_on, detach_on, expire_on, fill_on, locked_on};
pub(crate) use row::Attached;

use crate::PostgresStore;

#[async_trait]
impl FileRepository for PostgresStore {
    async fn stored_bytes(
        &self,
        who: ParticipantId,
        chat: ChatId,
        digest: FileDigest,
        limits: FileLimits,
        now: Timestamp,
    ) -> Result<Option<StoredBytes>, StoreError> {
        let given = (who, chat, digest, limits, now);
        self.read(given, |db, (who, chat, digest, limits, now)| {
            keep::stored_bytes_on(db, *who, *chat, *digest, limits, *now).boxed()
        })
        .await
    }

    async fn store_file(&self, new: NewFile) -> Result<Result<StoredFile, StoreFileRefused>, StoreError> {
        self.change_quietly(new, |db, new| keep::store_on(db, new).boxed()).await
    }

    async fn find_file(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        file: FileId,
        now: Timestamp,
    ) -> Result<Option<File>, StoreError> {
        let given = (viewer, chat, file, now);
        self.read(given, |db, (viewer, chat, file, now)| {
            keep::find_on(db, *viewer, *chat, *file, *now).boxed()
        })
        .await
    }

    async fn expired_files(&self, before: Timestamp, limit: u32) -> Result<Vec<FileId>, StoreError> {
        self.query((before, limit), |db, (before, limit)| keep::expired_on(db, *before, *limit).boxed()).await
    }

    async fn forget_files(&self, files: Vec<FileId>, before: Timestamp) -> Result<(), StoreError> {
        self.alter_quietly((files, before), |db, (files, before)| keep::forget_on(db, files, *before).boxed())
            .await
    }

    async fn recorded_files(&self, files: Vec<FileId>) -> Result<Vec<FileId>, StoreError> {
        self.query(files, |db, files| keep::recorded_on(db, files).boxed()).await
    }
}
