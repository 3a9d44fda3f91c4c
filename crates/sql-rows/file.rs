//! Records of files as rows. Compiled into each store, whose tables it names.

use std::collections::BTreeMap;

use diesel::prelude::*;
use domain::file::{ContentType, File, FileDigest, NewFile};
use domain::id::FileId;
use domain::message::Message;

use crate::error::Fault;
use crate::message::row::MessageRow;
use crate::row::{self, At, Id};
use crate::schema::files;

/// A file as it is read.
#[derive(Queryable, Selectable)]
#[diesel(table_name = files)]
pub(crate) struct FileRow {
    id: Id,
    name: String,
    content_type: String,
    bytes: i64,
    digest: Vec<u8>,
    expires_at: Option<At>,
}

impl FileRow {
    pub(crate) fn into_file(self) -> Result<File, Fault> {
        let digest = <[u8; 32]>::try_from(self.digest);
        let digest = digest.map_err(|_| Fault::Row("a digest of another length".to_owned()))?;
        Ok(File {
            id: FileId::new(self.id.0),
            name: self.name,
            content_type: row::word(&self.content_type, ContentType::parse)?,
            bytes: u64::try_from(self.bytes).map_err(|_| Fault::Row("a negative size".to_owned()))?,
            digest: FileDigest::new(digest),
            expires_at: self.expires_at.map(|at| at.0),
        })
    }
}

/// A file to be stored.
#[derive(Insertable)]
#[diesel(table_name = files)]
pub(super) struct NewFileRow {
    id: Id,
    chat_id: Id,
    name: String,
    content_type: &'static str,
    bytes: i64,
    digest: Vec<u8>,
    uploader_id: Id,
    uploader_kind: &'static str,
    created_at: At,
    uses: i64,
    expires_at: Option<At>,
}

impl NewFileRow {
    pub(super) fn of(new: &NewFile) -> Self {
        let (file, by) = (&new.file, new.by.participant());
        Self {
            id: Id(file.id.uuid()),
            chat_id: Id(new.chat.uuid()),
            name: file.name.clone(),
            content_type: file.content_type.as_str(),
            bytes: i64::try_from(file.bytes).unwrap_or(i64::MAX),
            digest: file.digest.bytes().to_vec(),
            uploader_id: Id(by.uuid()),
            uploader_kind: by.kind().as_str(),
            created_at: At(new.now),
            uses: 0,
            expires_at: file.expires_at.map(At),
        }
    }
}

/// The files that messages show, by message.
#[derive(Default)]
pub(crate) struct Attached(BTreeMap<Id, Vec<FileId>>);

impl Attached {
    /// The attachments of these rows.
    pub(crate) fn of<'r>(rows: impl IntoIterator<Item = &'r MessageRow>) -> Result<Self, Fault> {
        let with_files = rows.into_iter().filter(|row| row.attachments.is_some());
        with_files.map(|row| Ok((row.id, row.attached()?))).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The files, each once.
    pub(crate) fn ids(&self) -> Vec<Id> {
        let mut ids = self.0.values().flatten().map(|file| Id(file.uuid())).collect::<Vec<_>>();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Gives each message those of its files that were found.
    pub(crate) fn give(self, messages: &mut [Message], found: Vec<FileRow>) -> Result<(), Fault> {
        let files = found.into_iter().map(|row| Ok((row.id, row.into_file()?)));
        let files = files.collect::<Result<BTreeMap<_, _>, Fault>>()?;
        for message in messages {
            let ids = self.0.get(&Id(message.id.uuid())).into_iter().flatten();
            message.attachments = ids.filter_map(|id| files.get(&Id(id.uuid())).cloned()).collect();
        }
        Ok(())
    }
}

/// The column `attachments` of a message.
pub(crate) fn attachments_column(files: &[File]) -> Result<String, Fault> {
    row::to_json(&files.iter().map(|file| file.id).collect::<Vec<_>>())
}
