//! Failures of the use cases on files.

use domain::file::{DownloadError, FilesFull, ObjectError, UploadError};

use super::{limit_reached, resource_not_found};
use crate::error::{ApiError, ErrorCode};

/// The value of `Retry-After` if the store of the bytes is unavailable, in seconds.
const RETRY_SECONDS: u32 = 5;

impl From<UploadError> for ApiError {
    fn from(error: UploadError) -> Self {
        match error {
            UploadError::NotFound => resource_not_found(),
            UploadError::TooLarge { limit } => {
                let message = format!("The file is too large. Upload at most {limit} bytes.");
                Self::new(ErrorCode::ContentTooLarge, message)
            }
            UploadError::Full(full) => full.into(),
            UploadError::WrongDigest => {
                Self::validation().with_detail("x-file-sha256", "does not match the body")
            }
            UploadError::Objects(error) => error.into(),
            UploadError::Store(error) => error.into(),
        }
    }
}

impl From<DownloadError> for ApiError {
    fn from(error: DownloadError) -> Self {
        match error {
            DownloadError::NotFound => resource_not_found(),
            DownloadError::Objects(error) => error.into(),
            DownloadError::Store(error) => error.into(),
        }
    }
}

impl From<ObjectError> for ApiError {
    /// Bytes that are missing may come back, such as those in a directory that is not mounted.
    fn from(error: ObjectError) -> Self {
        let message = "File storage is unavailable. Try again.";
        Self::new(ErrorCode::ServiceUnavailable, message).with_retry_after(RETRY_SECONDS).with_cause(error)
    }
}

impl From<FilesFull> for ApiError {
    fn from(FilesFull { limit, current, chat }: FilesFull) -> Self {
        let (of, instead) = match chat {
            Some(_) => ("This room", "Continue in another room"),
            None => ("The organization of this room", "Delete rooms that you no longer need"),
        };
        let message = format!(
            "{of} may store {limit} bytes of files, and stores {current}. {instead}, or ask the operator of the server for a \
             higher limit."
        );
        limit_reached(message, "files", [limit, current], chat)
    }
}
