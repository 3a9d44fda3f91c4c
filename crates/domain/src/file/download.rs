//! Downloading a file.

use super::model::File;
use super::objects::{ObjectError, ObjectReader};
use super::service::FileService;
use super::span::Span;
use crate::caller::Caller;
use crate::id::{ChatId, FileId};
use crate::store::StoreError;

/// The reason why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// There is no such chat or file for the caller, or it has expired.
    #[error("there is no such file for the caller")]
    NotFound,
    /// The store of the bytes failed.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl FileService {
    /// A file of a chat that the caller may read.
    pub async fn find(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        file: FileId,
    ) -> Result<File, DownloadError> {
        if !self.is_on() {
            return Err(DownloadError::NotFound);
        }
        let viewer = caller.into().participant();
        self.files.find_file(viewer, chat, file, self.clock.now()).await?.ok_or(DownloadError::NotFound)
    }

    /// Opens a span of a file that [`Self::find`] has returned; `None` if the span is empty.
    pub async fn open(
        &self,
        file: &File,
        span: Span,
    ) -> Result<Option<Box<dyn ObjectReader>>, DownloadError> {
        if span.length == 0 {
            return Ok(None);
        }
        Ok(Some(self.objects.open(file.id, span).await?))
    }
}
