//! The contents of files, beside an archive, which only has their records.

use std::path::Path;

use adapters_objects::{Directory, Sharing};
use domain::archive::{Snapshot, Table, Value};
use domain::file::{ObjectError, ObjectStore, Span};
use domain::id::FileId;
use domain::time::Timestamp;
use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::progress::{Progress, say};

/// The number of records that are read at a time.
const AT_ONCE: usize = 256;

/// The result of copying.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct CopiedFiles {
    /// The number of files whose contents are in the destination.
    pub(crate) copied: u64,
    /// The number of files whose contents are missing.
    pub(crate) missing: u64,
}

/// What the copy needs of a record.
struct Record {
    id: FileId,
    bytes: u64,
    digest: Vec<u8>,
    expires_at: Option<Timestamp>,
}

/// The table of the records.
fn table() -> Result<&'static Table, Failure> {
    Table::named("files").ok_or_else(|| Failure::plain("this version knows no files"))
}

impl Record {
    fn of(table: &Table, row: &[Value]) -> Option<Self> {
        let column = |name: &str| table.columns.iter().position(|column| column.name == name);
        let value = |name: &str| row.get(column(name)?);
        let (Value::Id(id), Value::Integer(bytes), Value::Bytes(digest)) =
            (value("id")?, value("bytes")?, value("digest")?)
        else {
            return None;
        };
        let expires_at = match value("expires_at")? {
            Value::Instant(at) => Some(*at),
            _ => None,
        };
        let bytes = u64::try_from(*bytes).ok()?;
        Some(Self { id: FileId::new(*id), bytes, digest: digest.clone(), expires_at })
    }
}

/// The directory of contents beside an archive.
pub(crate) fn directory(path: &Path) -> Directory {
    Directory::new(path.to_owned(), Sharing::Shared)
}

/// The number of files in a store.
pub(crate) async fn count(snapshot: &mut dyn Snapshot) -> Result<u64, Failure> {
    let counted = snapshot.count(table()?).await;
    counted.map_err(|cause| Failure::new("cannot count files", cause))
}

/// Copies the contents of all files of a store that have not expired, and compares each with its digest. Contents that the
/// destination has are only compared.
pub(crate) async fn copy(
    snapshot: &mut dyn Snapshot,
    from: &dyn ObjectStore,
    to: &dyn ObjectStore,
    now: Timestamp,
) -> Result<CopiedFiles, Failure> {
    let table = table()?;
    let mut progress = Progress::of("files", count(snapshot).await?);
    let (mut done, mut after) = (CopiedFiles::default(), None::<Vec<Value>>);
    loop {
        let page = snapshot.rows(table, after.as_deref(), AT_ONCE).await;
        let page = page.map_err(|cause| Failure::new("cannot read the records of files", cause))?;
        let Some(last) = page.last() else { return Ok(done) };
        after = Some(table.key_of(last).to_vec());
        for row in &page {
            let record =
                Record::of(table, row).ok_or_else(|| Failure::plain("a record of a file is malformed"))?;
            if record.expires_at.is_none_or(|at| now < at) {
                if is_there(&record, to).await? || copy_one(&record, from, to).await? {
                    done.copied += 1;
                } else {
                    progress.say(&format!("warning: the contents of the file {} are missing", record.id));
                    done.missing += 1;
                }
            }
            progress.add(1);
        }
    }
}

fn cannot(record: &Record, what: &str) -> impl Fn(ObjectError) -> Failure {
    let what = format!("cannot {what} the file {}", record.id);
    move |cause| Failure::new(&what, cause)
}

/// Returns whether the destination has these contents.
async fn is_there(record: &Record, to: &dyn ObjectStore) -> Result<bool, Failure> {
    let mut reader = match to.open(record.id, Span::whole(record.bytes)).await {
        Ok(reader) => reader,
        Err(ObjectError::Missing) => return Ok(false),
        Err(error) => return Err(cannot(record, "read")(error)),
    };
    let mut digest = Sha256::new();
    loop {
        match reader.read().await {
            Ok(Some(piece)) => digest.update(&piece),
            Ok(None) => return Ok(digest.finalize()[..] == record.digest[..]),
            // It is too short, and will be replaced.
            Err(_) => return Ok(false),
        }
    }
}

/// Copies contents; returns `false` if there are none.
async fn copy_one(record: &Record, from: &dyn ObjectStore, to: &dyn ObjectStore) -> Result<bool, Failure> {
    let mut reader = match from.open(record.id, Span::whole(record.bytes)).await {
        Ok(reader) => reader,
        Err(ObjectError::Missing) => return Ok(false),
        Err(error) => return Err(cannot(record, "read")(error)),
    };
    let mut writer = to.create(record.id).await.map_err(cannot(record, "write"))?;
    let mut digest = Sha256::new();
    while let Some(piece) = reader.read().await.map_err(cannot(record, "read"))? {
        digest.update(&piece);
        writer.write(&piece).await.map_err(cannot(record, "write"))?;
    }
    if digest.finalize()[..] != record.digest[..] {
        let said = format!("the contents of the file {} do not have the digest of its record", record.id);
        return Err(Failure::plain(said).next("restore the contents from a backup"));
    }
    writer.finish().await.map_err(cannot(record, "write"))?;
    Ok(true)
}

/// Says what was copied.
pub(crate) fn report(done: CopiedFiles) {
    let CopiedFiles { copied, missing } = done;
    say(&format!("contents of files copied: {copied}"));
    if missing > 0 {
        say(&format!("warning: contents of files missing: {missing}"));
    }
}

/// Says that contents are not part of an archive.
pub(crate) fn warn_without(files: u64) {
    if files > 0 {
        say(&format!(
            "warning: the archive has the records of {files} files, but not their contents. Copy these with --files."
        ));
    }
}
