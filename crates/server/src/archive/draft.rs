//! A file that appears whole or not at all.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The maximum number of symbolic links that are followed, as in Linux.
const MOST_LINKS: usize = 40;

/// A file being written, readable by its owner only; removed if it is not finished. One process at
/// a time writes it.
pub(crate) struct Draft {
    out: BufWriter<File>,
    /// `None` for a target that is written directly: a device, a pipe.
    names: Option<Names>,
}

/// The names of the file before and after it is finished.
struct Names {
    draft: PathBuf,
    path: PathBuf,
}

impl Draft {
    /// Begins a file for `path`; an existing file stays until this is finished. A target that is no
    /// regular file is written directly, and a symbolic link stays one.
    ///
    /// # Errors
    /// `ResourceBusy` while another process writes the same file.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let path = match fs::metadata(path) {
            Ok(there) if there.is_file() => fs::canonicalize(path)?,
            Ok(_) => {
                let file = OpenOptions::new().write(true).open(path)?;
                return Ok(Self { out: BufWriter::new(file), names: None });
            }
            Err(cause) if cause.kind() == ErrorKind::NotFound => meant(path)?,
            Err(cause) => return Err(cause),
        };
        let mut draft = path.as_os_str().to_owned();
        draft.push(".part");
        Self::at(draft.into(), path)
    }

    /// Begins the file at `draft`, to be renamed to `path` beside it.
    ///
    /// # Errors
    /// `ResourceBusy` while another process writes the same draft.
    pub(crate) fn at(draft: PathBuf, path: PathBuf) -> io::Result<Self> {
        let file = make(&draft)?;
        Ok(Self { out: BufWriter::new(file), names: Some(Names { draft, path }) })
    }

    /// The path until it is finished; `None` for a target that is written directly.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.names.as_ref().map(|names| names.draft.as_path())
    }

    /// Flushes the draft to the disk, so that a crash leaves it; nothing for a target that is
    /// written directly, before it is finished.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        let Some(names) = &self.names else { return Ok(()) };
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        sync_directory(&names.draft)
    }

    /// Leaves the draft under its own name. The next one for the same path removes it.
    pub(crate) fn leave(mut self) {
        self.names = None;
    }

    /// Flushes the file to the disk and renames it.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.complete()
    }

    /// Does the same, but leaves the draft if that fails.
    ///
    /// # Errors
    /// The cause, and the file that holds what was written; `None` for a target that is written
    /// directly.
    pub(crate) fn finish_or_leave(mut self) -> Result<(), (io::Error, Option<PathBuf>)> {
        let path = self.names.as_ref().map(|names| names.path.clone());
        let finished = self.complete();
        let left = self.names.take().map(|names| names.draft).or(path);
        finished.map_err(|cause| (cause, left))
    }

    fn complete(&mut self) -> io::Result<()> {
        self.out.flush()?;
        let flushed = self.out.get_ref().sync_all();
        let Some(names) = &self.names else {
            // Pipes and most devices have nothing to flush to.
            return flushed.or_else(|cause| match cause.kind() {
                ErrorKind::InvalidInput => Ok(()),
                _ => Err(cause),
            });
        };
        flushed?;
        fs::rename(&names.draft, &names.path)?;
        let path = self.names.take().map(|names| names.path).unwrap_or_default();
        sync_directory(&path)
    }
}

/// Flushes the directory of a file to the disk.
fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(directory)?.sync_all()
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // The lock is held until after this, so no other process can have it.
        if let Some(names) = &self.names {
            let _ = fs::remove_file(&names.draft);
        }
    }
}

/// The location of a file made at `path`, where there is nothing or a dangling link.
fn meant(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Makes a new file and locks it; one that a killed process has left is removed.
fn make(draft: &Path) -> io::Result<File> {
    loop {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft) {
            Ok(file) => {
                lock(&file)?;
                // Another process found it before it was locked, and took it for abandoned.
                return if stands_at(&file, draft)? { Ok(file) } else { Err(busy()) };
            }
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => clear(draft)?,
            Err(cause) => return Err(cause),
        }
    }
}

/// Removes an abandoned draft, unless a process is writing it.
fn clear(draft: &Path) -> io::Result<()> {
    let opened = fs::symlink_metadata(draft).and_then(|there| {
        if there.is_file() {
            OpenOptions::new().write(true).open(draft)
        } else {
            Err(io::Error::other(format!("{} is not a regular file; remove it", draft.display())))
        }
    });
    let left = match opened {
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    lock(&left)?;
    // It may have been finished and renamed meanwhile.
    if stands_at(&left, draft)? { fs::remove_file(draft) } else { Ok(()) }
}

fn lock(file: &File) -> io::Result<()> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => busy(),
        TryLockError::Error(cause) => cause,
    })
}

fn busy() -> io::Error {
    io::Error::new(ErrorKind::ResourceBusy, "another process is writing it")
}

fn stands_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(cause),
    }
}

#[cfg(test)]
mod tests;
