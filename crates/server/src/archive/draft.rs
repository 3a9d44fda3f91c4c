//! A file that appears whole or not at all.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How many symbolic links are followed, as many as Linux does.
const MOST_LINKS: usize = 40;

/// A file on its way, for its owner only; gone if it is not finished. One process at a time writes it.
pub(crate) struct Draft {
    out: BufWriter<File>,
    /// None of what is written to as it stands: a device, a pipe.
    names: Option<Names>,
}

/// What the file is called until it is finished, and from then on.
struct Names {
    draft: PathBuf,
    path: PathBuf,
}

impl Draft {
    /// Begins the file that is to stand at `path`; what stands there stays until this is finished. What
    /// is no file is written to at once, and a symbolic link stays one.
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

    /// Begins the file at `draft` that is to stand at `path` beside it.
    ///
    /// # Errors
    /// `ResourceBusy` while another process writes the same draft.
    pub(crate) fn at(draft: PathBuf, path: PathBuf) -> io::Result<Self> {
        let file = make(&draft)?;
        Ok(Self { out: BufWriter::new(file), names: Some(Names { draft, path }) })
    }

    /// Where it stands until it is finished; `None` for what is written to as it stands.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.names.as_ref().map(|names| names.draft.as_path())
    }

    /// Flushes it to the disk and gives it its name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
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
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        File::open(directory)?.sync_all()
    }
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
        // The lock is held until after this, so it is nobody else's.
        if let Some(names) = &self.names {
            let _ = fs::remove_file(&names.draft);
        }
    }
}

/// Where a file comes to stand that is made at `path`, where there is nothing or a link to nothing.
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

/// Makes a new file and locks it; one that a killed process has left there goes.
fn make(draft: &Path) -> io::Result<File> {
    loop {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft) {
            Ok(file) => {
                lock(&file)?;
                // Who found it before it was locked took it for left.
                return if stands_at(&file, draft)? { Ok(file) } else { Err(busy()) };
            }
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => clear(draft)?,
            Err(cause) => return Err(cause),
        }
    }
}

/// Removes the draft that stands there, unless somebody is writing it.
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
    // It may have been finished meanwhile, and have its name.
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
