//! Files as clients see them.

use domain::file::{File, FileDigest};
use domain::id::FileId;
use domain::time::Timestamp;

use super::Shown;

/// A file of a room.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub struct AttachmentView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<FileId>,
    /// The first name under which the bytes were uploaded to the room.
    name: &'a str,
    /// Found from the bytes, whatever the uploader said.
    content_type: &'static str,
    bytes: u64,
    /// The digest of the bytes: 64 lower-case hexadecimal digits.
    #[schema(value_type = String)]
    sha256: Shown<FileDigest>,
    /// Always false: there are no previews.
    has_thumb: bool,
    /// When the file is removed, unless a message shows it before. Null while a message shows it.
    #[schema(value_type = Option<super::Instant>)]
    expires_at: Option<Shown<Timestamp>>,
}

impl<'a> AttachmentView<'a> {
    /// A file.
    pub fn new(file: &'a File) -> Self {
        Self {
            id: Shown(file.id),
            name: &file.name,
            content_type: file.content_type.as_str(),
            bytes: file.bytes,
            sha256: Shown(file.digest),
            has_thumb: false,
            expires_at: file.expires_at.map(Shown),
        }
    }
}
