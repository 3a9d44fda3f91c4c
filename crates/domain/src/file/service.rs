//! The area's ports and limits in one place.

use std::sync::Arc;
use std::time::Duration;

use super::objects::ObjectStore;
use super::port::FileRepository;
use crate::ports::{Clock, IdGenerator};

/// The limits of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileLimits {
    /// The maximum number of bytes of one file; 0 turns files off.
    pub file_bytes: u64,
    /// The maximum number of bytes of the files of a chat.
    pub chat_bytes: Option<u64>,
    /// The maximum number of bytes of the files of an organization's chats.
    pub organization_bytes: Option<u64>,
    /// The time after which a file that no message shows expires.
    pub unattached: Duration,
}

impl FileLimits {
    /// The default of [`Self::file_bytes`].
    pub const FILE_BYTES: u64 = 100 * 1024 * 1024;

    /// The default of [`Self::unattached`], in hours.
    pub const UNATTACHED_HOURS: u32 = 24;

    /// No files.
    pub const OFF: Self = Self { file_bytes: 0, ..Self::DEFAULT };

    /// The limits of a server without a configuration.
    pub const DEFAULT: Self = Self {
        file_bytes: Self::FILE_BYTES,
        chat_bytes: None,
        organization_bytes: None,
        unattached: Duration::from_secs(Self::UNATTACHED_HOURS as u64 * 60 * 60),
    };
}

/// Use cases on files.
pub struct FileService {
    pub(super) files: Arc<dyn FileRepository>,
    pub(super) objects: Arc<dyn ObjectStore>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
    pub(super) limits: FileLimits,
}

impl FileService {
    /// Wires the area to its ports.
    pub fn new(
        files: Arc<dyn FileRepository>,
        objects: Arc<dyn ObjectStore>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
        limits: FileLimits,
    ) -> Self {
        Self { files, objects, clock, ids, limits }
    }

    /// Returns whether chats have files; otherwise nobody finds one.
    pub const fn is_on(&self) -> bool {
        self.limits.file_bytes > 0
    }

    /// The limits.
    pub const fn limits(&self) -> &FileLimits {
        &self.limits
    }
}
