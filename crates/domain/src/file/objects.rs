//! The store of the bytes.

use std::error::Error;
use std::fmt;

use async_trait::async_trait;

use super::span::Span;
use crate::id::FileId;

/// The reason why bytes were not stored, read, or removed.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// There are no bytes under this id.
    #[error("there are no bytes under this id")]
    Missing,
    /// The store is temporarily unavailable: full disk, lost connection, time-out.
    #[error("file storage is unavailable")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
}

impl ObjectError {
    /// A failure with this cause.
    pub fn unavailable(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable(cause.into())
    }
}

/// One of 256 parts of all files: those whose ids end with the same byte, which is random.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard(pub u8);

impl Shard {
    /// That of a file.
    pub const fn of(file: FileId) -> Self {
        let bytes = file.uuid().into_bytes();
        Self(bytes[bytes.len() - 1])
    }
}

impl fmt::Display for Shard {
    /// Two hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x}", self.0)
    }
}

/// Bytes under the ids of files. Bytes never change, and no id is used twice.
#[async_trait]
pub trait ObjectStore: fmt::Debug + Send + Sync {
    /// Starts storing bytes. They cannot be found before [`ObjectWriter::finish`]. If the writer is dropped, they are removed,
    /// at the latest by the next [`Self::begin`].
    async fn create(&self, file: FileId) -> Result<Box<dyn ObjectWriter>, ObjectError>;

    /// Opens a span of the bytes, which must lie within them.
    async fn open(&self, file: FileId, span: Span) -> Result<Box<dyn ObjectReader>, ObjectError>;

    /// Removes the bytes, if there are any.
    async fn remove(&self, file: FileId) -> Result<(), ObjectError>;

    /// All ids with bytes of a shard, in any order.
    async fn list(&self, shard: Shard) -> Result<Vec<FileId>, ObjectError>;

    /// Prepares the store when the server starts, and removes what writers of earlier runs have left. Only writers of other
    /// nodes may be at work.
    async fn begin(&self) -> Result<(), ObjectError>;
}

/// Bytes that are being stored.
#[async_trait]
pub trait ObjectWriter: Send {
    /// Adds a piece.
    async fn write(&mut self, piece: &[u8]) -> Result<(), ObjectError>;

    /// Makes the bytes durable, and lets them be found.
    async fn finish(self: Box<Self>) -> Result<(), ObjectError>;
}

/// Bytes that are being read.
#[async_trait]
pub trait ObjectReader: Send {
    /// The next piece, which is never empty and of bounded size; `None` at the end.
    async fn read(&mut self) -> Result<Option<Vec<u8>>, ObjectError>;
}

/// No store: nothing can be stored.
#[derive(Clone, Copy, Debug)]
pub struct NoObjects;

#[async_trait]
impl ObjectStore for NoObjects {
    async fn create(&self, _: FileId) -> Result<Box<dyn ObjectWriter>, ObjectError> {
        Err(ObjectError::unavailable("files are off"))
    }

    async fn open(&self, _: FileId, _: Span) -> Result<Box<dyn ObjectReader>, ObjectError> {
        Err(ObjectError::unavailable("files are off"))
    }

    async fn remove(&self, _: FileId) -> Result<(), ObjectError> {
        Ok(())
    }

    async fn list(&self, _: Shard) -> Result<Vec<FileId>, ObjectError> {
        Ok(Vec::new())
    }

    async fn begin(&self) -> Result<(), ObjectError> {
        Ok(())
    }
}
