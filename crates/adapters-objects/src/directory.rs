//! Bytes in a directory: `<last byte of the id>/<id>`, and files that are being written in `incoming`.
//!
//! A file is written in `incoming`, flushed, and renamed; then its new directory entry is flushed too. So what is found
//! under an id is always whole, also after a crash of the machine.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use domain::file::{ObjectError, ObjectReader, ObjectStore, ObjectWriter, Shard, Span};
use domain::id::FileId;
use tokio::task::spawn_blocking;

use crate::PIECE;

/// The directory of files that are being written.
const INCOMING: &str = "incoming";

/// The age at which another node's file in `incoming` counts as abandoned. A live writer makes progress within a minute.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// Who uses the directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// One server.
    Alone,
    /// Several servers, all of which see the same directory.
    Shared,
}

/// A directory for the bytes of files.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
    sharing: Sharing,
}

impl Directory {
    /// The directory at this path, which need not exist yet.
    pub const fn new(path: PathBuf, sharing: Sharing) -> Self {
        Self { path, sharing }
    }

    fn shard(&self, shard: Shard) -> PathBuf {
        self.path.join(shard.to_string())
    }

    fn place(&self, file: FileId) -> PathBuf {
        self.shard(Shard::of(file)).join(file.to_string())
    }

    /// Removes what earlier runs have left in `incoming`.
    fn clean(&self) -> io::Result<()> {
        let incoming = self.path.join(INCOMING);
        make_directory(&incoming)?;
        for entry in fs::read_dir(incoming)? {
            let entry = entry?;
            let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
            if self.sharing == Sharing::Alone || age().is_some_and(|age| age >= ABANDONED) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// Makes a directory that only the server reads, with those above it, unless it exists. Flushes its entry.
fn make_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    path.parent().map_or(Ok(()), flush)
}

/// Flushes the entries of a directory.
fn flush(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Removes a file, if it exists.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Does blocking work outside of the threads of requests.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, ObjectError> {
    let done = spawn_blocking(work).await.map_err(ObjectError::unavailable)?;
    done.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ObjectError::Missing,
        _ => ObjectError::unavailable(error),
    })
}

#[async_trait]
impl ObjectStore for Directory {
    async fn create(&self, file: FileId) -> Result<Box<dyn ObjectWriter>, ObjectError> {
        let incoming = Incoming(self.path.join(INCOMING).join(file.to_string()));
        let path = incoming.0.clone();
        let opened = blocking(move || {
            path.parent().map_or(Ok(()), make_directory)?;
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
        });
        Ok(Box::new(Writer {
            file: Some(opened.await?),
            incoming,
            place: self.place(file),
            buffer: Vec::with_capacity(PIECE),
        }))
    }

    async fn open(&self, file: FileId, span: Span) -> Result<Box<dyn ObjectReader>, ObjectError> {
        let place = self.place(file);
        let opened = blocking(move || {
            let mut file = File::open(place)?;
            file.seek(SeekFrom::Start(span.start))?;
            Ok(file)
        });
        Ok(Box::new(Reader { file: Some(opened.await?), left: span.length }))
    }

    async fn remove(&self, file: FileId) -> Result<(), ObjectError> {
        let place = self.place(file);
        blocking(move || remove(&place)).await
    }

    async fn list(&self, shard: Shard) -> Result<Vec<FileId>, ObjectError> {
        let directory = self.shard(shard);
        blocking(move || {
            let entries = match fs::read_dir(directory) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                entries => entries?,
            };
            let mut ids = Vec::new();
            for entry in entries {
                ids.extend(entry?.file_name().to_str().and_then(FileId::parse));
            }
            Ok(ids)
        })
        .await
    }

    async fn begin(&self) -> Result<(), ObjectError> {
        let directory = self.clone();
        blocking(move || directory.clean()).await
    }
}

/// The path of a file that is being written; removed with this, unless it was renamed.
struct Incoming(PathBuf);

impl Drop for Incoming {
    fn drop(&mut self) {
        // What is left if this fails is removed at the next start.
        let _ = remove(&self.0);
    }
}

struct Writer {
    /// `None` while another thread writes to it, and after a failure.
    file: Option<File>,
    incoming: Incoming,
    place: PathBuf,
    buffer: Vec<u8>,
}

impl Writer {
    /// Writes the buffer.
    async fn flush(&mut self) -> Result<(), ObjectError> {
        let mut file = self.file.take().ok_or_else(|| ObjectError::unavailable("an earlier write failed"))?;
        let mut buffer = std::mem::take(&mut self.buffer);
        let written = blocking(move || {
            file.write_all(&buffer)?;
            buffer.clear();
            Ok((file, buffer))
        });
        let (file, buffer) = written.await?;
        (self.file, self.buffer) = (Some(file), buffer);
        Ok(())
    }
}

#[async_trait]
impl ObjectWriter for Writer {
    async fn write(&mut self, mut piece: &[u8]) -> Result<(), ObjectError> {
        while !piece.is_empty() {
            let (now, later) = piece.split_at(piece.len().min(PIECE - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            piece = later;
            if self.buffer.len() == PIECE {
                self.flush().await?;
            }
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<(), ObjectError> {
        self.flush().await?;
        let Self { file, incoming, place, .. } = *self;
        blocking(move || {
            file.map_or(Ok(()), |file| file.sync_all())?;
            let shard = place.parent().unwrap_or(&place);
            make_directory(shard)?;
            fs::rename(&incoming.0, &place)?;
            flush(shard)
        })
        .await
    }
}

struct Reader {
    /// `None` while another thread reads it, and after a failure.
    file: Option<File>,
    left: u64,
}

#[async_trait]
impl ObjectReader for Reader {
    async fn read(&mut self) -> Result<Option<Vec<u8>>, ObjectError> {
        let wanted = usize::try_from(self.left).unwrap_or(PIECE).min(PIECE);
        if wanted == 0 {
            return Ok(None);
        }
        let mut file = self.file.take().ok_or_else(|| ObjectError::unavailable("an earlier read failed"))?;
        let read = blocking(move || {
            let mut piece = vec![0; wanted];
            file.read_exact(&mut piece)?;
            Ok((file, piece))
        });
        let (file, piece) = read.await?;
        (self.file, self.left) = (Some(file), self.left - wanted as u64);
        Ok(Some(piece))
    }
}
