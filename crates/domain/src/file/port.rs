//! The store of records of files.

use async_trait::async_trait;

use super::model::File;
use super::service::FileLimits;
use crate::caller::Caller;
use crate::id::{ChatId, FileId, ParticipantId};
use crate::store::StoreError;
use crate::time::Timestamp;

use super::digest::FileDigest;

/// The bytes of files that count towards the limits of a chat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoredBytes {
    /// Those of the chat.
    pub chat: u64,
    /// Those of all chats of its organization; 0 if that has no limit.
    pub organization: u64,
    /// Set if the chat has a live file with the digest in question: it needs no space.
    pub has_same: bool,
}

/// A limit of bytes is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("at most {limit} bytes of files may be stored")]
pub struct FilesFull {
    /// The limit, in bytes.
    pub limit: u64,
    /// The bytes that are stored.
    pub current: u64,
    /// The chat, for the limit of a chat; `None` for that of an organization.
    pub chat: Option<ChatId>,
}

impl StoredBytes {
    /// Checks that the chat has room for this many more bytes.
    pub fn check(self, chat: ChatId, more: u64, limits: &FileLimits) -> Result<(), FilesFull> {
        let of_chat = (limits.chat_bytes, self.chat, Some(chat));
        for (limit, current, chat) in [of_chat, (limits.organization_bytes, self.organization, None)] {
            if let Some(limit) = limit
                && current.saturating_add(more) > limit
            {
                return Err(FilesFull { limit, current, chat });
            }
        }
        Ok(())
    }
}

/// A file whose bytes are durable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewFile {
    /// The file, with the time at which it expires unless a message shows it before.
    pub file: File,
    /// The chat.
    pub chat: ChatId,
    /// The uploader.
    pub by: Caller,
    /// The limits.
    pub limits: FileLimits,
    /// The current time.
    pub now: Timestamp,
}

impl NewFile {
    /// The live file `same` with the same bytes, after they were uploaded again: unless a message shows it, it expires no
    /// earlier than the new one would.
    pub fn merged_into(&self, same: File) -> File {
        let later = self.file.expires_at.filter(|later| same.expires_at.is_some_and(|at| at < *later));
        File { expires_at: later.or(same.expires_at), ..same }
    }
}

/// The file with some bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredFile {
    /// The file.
    pub file: File,
    /// Unset if the chat had the same bytes before: the file is that one.
    pub is_new: bool,
}

/// The reason why a file was not stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreFileRefused {
    /// The uploader is no participant of the chat, or it does not exist.
    NotFound,
    /// A limit of bytes is reached.
    Full(FilesFull),
}

/// Records of files. A message attaches files with
/// [`MessageRepository::append`](crate::message::MessageRepository::append).
#[async_trait]
pub trait FileRepository: Send + Sync {
    /// The stored bytes that count for a new file with this digest. `None` if `who` is no participant of the chat, or it
    /// does not exist.
    async fn stored_bytes(
        &self,
        who: ParticipantId,
        chat: ChatId,
        digest: FileDigest,
        limits: FileLimits,
        now: Timestamp,
    ) -> Result<Option<StoredBytes>, StoreError>;

    /// Stores a record, unless the chat has a live file with the same digest: that is returned then, and if no message
    /// shows it, it expires no earlier than the new one would. A file that has expired makes way. The limits are those of
    /// [`StoredBytes::check`]. Only a new file has an audit entry.
    async fn store_file(&self, new: NewFile) -> Result<Result<StoredFile, StoreFileRefused>, StoreError>;

    /// A live file of a chat that `viewer` may [read](crate::chat::Standing::may_read).
    async fn find_file(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        file: FileId,
        now: Timestamp,
    ) -> Result<Option<File>, StoreError>;

    /// Files that expired before this time, at most `limit`. Those of a deleted chat expire with it.
    async fn expired_files(&self, before: Timestamp, limit: u32) -> Result<Vec<FileId>, StoreError>;

    /// Removes those of the records that expired before this time.
    async fn forget_files(&self, files: Vec<FileId>, before: Timestamp) -> Result<(), StoreError>;

    /// Those of the files that have a record.
    async fn recorded_files(&self, files: Vec<FileId>) -> Result<Vec<FileId>, StoreError>;
}
