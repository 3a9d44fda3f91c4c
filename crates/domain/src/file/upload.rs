//! Uploading a file.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::digest::FileDigest;
use super::kind::TypeScan;
use super::model::File;
use super::name::FileName;
use super::objects::{ObjectError, ObjectStore, ObjectWriter};
use super::port::{FileRepository, FilesFull, NewFile, StoreFileRefused, StoredFile};
use super::service::{FileLimits, FileService};
use super::sweep::{ORPHAN_AGE, made_at};
use crate::caller::Caller;
use crate::id::{ChatId, FileId};
use crate::ports::Clock;
use crate::store::StoreError;

/// What an uploader says before the bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Announced {
    /// The name.
    pub name: FileName,
    /// The digest of the bytes.
    pub digest: FileDigest,
    /// Their number, if it is known.
    pub bytes: Option<u64>,
}

/// The reason why a file was not stored.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// The caller is no participant of the chat, or it does not exist.
    #[error("there is no such chat for the caller")]
    NotFound,
    /// The file is too large.
    #[error("a file has at most {limit} bytes")]
    TooLarge {
        /// The maximum number of bytes.
        limit: u64,
    },
    /// A limit of bytes is reached.
    #[error(transparent)]
    Full(#[from] FilesFull),
    /// The bytes have another digest than was announced.
    #[error("the bytes have another digest")]
    WrongDigest,
    /// The store of the bytes failed.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<StoreFileRefused> for UploadError {
    fn from(refused: StoreFileRefused) -> Self {
        match refused {
            StoreFileRefused::NotFound => Self::NotFound,
            StoreFileRefused::Full(full) => Self::Full(full),
        }
    }
}

/// A file that is being uploaded. Nothing is left of it if it is dropped.
pub struct Upload {
    files: Arc<dyn FileRepository>,
    objects: Arc<dyn ObjectStore>,
    clock: Arc<dyn Clock>,
    limits: FileLimits,
    id: FileId,
    chat: ChatId,
    by: Caller,
    announced: Announced,
    writer: Box<dyn ObjectWriter>,
    bytes: u64,
    digest: Sha256,
    scan: TypeScan,
}

impl FileService {
    /// Checks that the caller may upload to the chat: its participants may.
    pub async fn check_uploader(&self, caller: impl Into<Caller>, chat: ChatId) -> Result<(), UploadError> {
        let nothing = FileDigest::new([0; 32]);
        self.may_store(caller.into(), chat, nothing, 0).await
    }

    /// Begins an upload. Refuses early what the size shows to be impossible.
    pub async fn begin_upload(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        announced: Announced,
    ) -> Result<Upload, UploadError> {
        let by = caller.into();
        self.may_store(by, chat, announced.digest, announced.bytes.unwrap_or(0)).await?;
        let id = FileId::new(self.ids.generate(self.clock.now()));
        Ok(Upload {
            files: self.files.clone(),
            objects: self.objects.clone(),
            clock: self.clock.clone(),
            limits: self.limits,
            id,
            chat,
            by,
            announced,
            writer: self.objects.create(id).await?,
            bytes: 0,
            digest: Sha256::new(),
            scan: TypeScan::default(),
        })
    }

    async fn may_store(
        &self,
        by: Caller,
        chat: ChatId,
        digest: FileDigest,
        bytes: u64,
    ) -> Result<(), UploadError> {
        if !self.is_on() {
            return Err(UploadError::NotFound);
        }
        let (who, now) = (by.participant(), self.clock.now());
        let stored = self.files.stored_bytes(who, chat, digest, self.limits, now).await?;
        let stored = stored.ok_or(UploadError::NotFound)?;
        check_size(bytes, &self.limits)?;
        if !stored.has_same {
            stored.check(chat, bytes, &self.limits)?;
        }
        Ok(())
    }
}

fn check_size(bytes: u64, limits: &FileLimits) -> Result<(), UploadError> {
    let limit = limits.file_bytes;
    if bytes > limit { Err(UploadError::TooLarge { limit }) } else { Ok(()) }
}

impl Upload {
    /// Adds a piece.
    pub async fn write(&mut self, piece: &[u8]) -> Result<(), UploadError> {
        self.bytes += piece.len() as u64;
        check_size(self.bytes, &self.limits)?;
        self.digest.update(piece);
        self.scan.read(piece);
        Ok(self.writer.write(piece).await?)
    }

    /// Stores the file after its last piece. The same bytes in the same chat are the same file.
    pub async fn finish(self) -> Result<StoredFile, UploadError> {
        let digest = FileDigest::new(self.digest.finalize().into());
        if digest != self.announced.digest {
            return Err(UploadError::WrongDigest);
        }
        if made_at(self.id) < self.clock.now().minus(ORPHAN_AGE / 2) {
            return Err(
                ObjectError::unavailable("the upload took so long that its bytes may be swept").into()
            );
        }
        self.writer.finish().await?;
        let now = self.clock.now();
        let file = File {
            id: self.id,
            name: self.announced.name.into_string(),
            content_type: self.scan.finish(),
            bytes: self.bytes,
            digest,
            expires_at: Some(now.plus(self.limits.unattached)),
        };
        let new = NewFile { file, chat: self.chat, by: self.by, limits: self.limits, now };
        // If the outcome is in doubt, the bytes stay: the sweep finds them if they have no record.
        let stored = self.files.store_file(new).await?;
        if !stored.as_ref().is_ok_and(|stored| stored.is_new) {
            // What is left if this fails is removed by the sweep, too.
            let _ = self.objects.remove(self.id).await;
        }
        Ok(stored?)
    }
}
