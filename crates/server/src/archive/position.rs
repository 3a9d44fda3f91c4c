//! The progress of an import, stored in a file beside the archive.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use crate::failure::Failure;

/// A position in an archive up to which its rows are in a store.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct ArchivePosition {
    /// The digest of the archive.
    pub(crate) sha256: String,
    /// The number of bytes that are finished.
    pub(crate) bytes: u64,
    /// The number of rows that are finished.
    pub(crate) rows: u64,
    /// The number of texts with a replaced character.
    pub(crate) replaced: u64,
}

/// The file that stores a position.
pub(crate) struct PositionFile(PathBuf);

impl PositionFile {
    pub(crate) fn beside(archive: &Path) -> Self {
        let mut path = archive.as_os_str().to_owned();
        path.push(".position");
        Self(path.into())
    }

    /// The position that was reached in this archive, if one was.
    pub(crate) fn of(&self, sha256: &str) -> Result<Option<ArchivePosition>, Failure> {
        let text = match std::fs::read_to_string(&self.0) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|cause| self.fault("read", cause))?,
        };
        // An unreadable one, or that of another archive, is ignored: the import starts over.
        let position = serde_json::from_str::<ArchivePosition>(&text).ok();
        Ok(position.filter(|position| position.sha256 == sha256))
    }

    pub(crate) fn keep(&self, position: &ArchivePosition) -> Result<(), Failure> {
        let written = Draft::of(&self.0).and_then(|mut draft| {
            serde_json::to_writer(&mut draft, position)?;
            draft.write_all(b"\n")?;
            draft.finish()
        });
        match written {
            // Another import of the same archive is storing its own; this one is stored the next
            // time.
            Err(cause) if cause.kind() == ErrorKind::ResourceBusy => Ok(()),
            written => written.map_err(|cause| self.fault("write", cause)),
        }
    }

    pub(crate) fn forget(&self) -> Result<(), Failure> {
        match std::fs::remove_file(&self.0) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(()),
            done => done.map_err(|cause| self.fault("remove", cause)),
        }
    }

    fn fault(&self, what: &str, cause: std::io::Error) -> Failure {
        Failure::new(format_args!("cannot {what} the position in {}", self.0.display()), cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_another_import_is_keeping_is_left_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = PositionFile::beside(&directory.path().join("archive"));
        let position = |bytes| ArchivePosition { sha256: "some".to_owned(), bytes, rows: 1, replaced: 0 };
        file.keep(&position(1)).unwrap();
        let other = Draft::of(&file.0).unwrap();
        file.keep(&position(2)).unwrap();
        assert_eq!(file.of("some").unwrap(), Some(position(1)));
        drop(other);
        file.keep(&position(3)).unwrap();
        assert_eq!(file.of("some").unwrap(), Some(position(3)));
    }
}
