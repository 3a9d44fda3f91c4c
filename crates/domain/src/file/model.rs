//! A file as stored.

use serde::{Deserialize, Serialize};

use super::digest::FileDigest;
use super::kind::ContentType;
use crate::id::FileId;
use crate::time::Timestamp;

/// The maximum number of files that a message shows.
pub const MAX_ATTACHED: usize = 10;

/// The record of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct File {
    /// Identifier.
    pub id: FileId,
    /// The first name under which the bytes were uploaded to the chat.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub content_type: ContentType,
    /// The number of bytes.
    pub bytes: u64,
    /// The digest of the bytes.
    pub digest: FileDigest,
    /// The time at which it expires, after which it can no longer be found; `None` while a message shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl File {
    /// Returns whether it is found at `now`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|expiry| now < expiry)
    }
}
