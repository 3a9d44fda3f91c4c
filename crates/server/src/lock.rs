//! One server for one data directory.
//!
//! Events reach sockets within one process; two servers on one embedded store would each be
//! deaf to what the other accepts. The lock goes with the process, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Held as long as the server runs.
#[derive(Debug)]
pub(crate) struct StoreLock(#[expect(dead_code, reason = "the lock lives as long as the file is open")] File);

impl StoreLock {
    /// Takes the lock beside the store's file, or says that another server holds it.
    pub(crate) fn take(store: &Path) -> Result<Self, Failure> {
        let directory = match store.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        std::fs::create_dir_all(directory).map_err(|cause| {
            Failure::new(format_args!("cannot use the data directory {}", directory.display()), cause)
        })?;
        let mut path = store.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file =
            file.map_err(|cause| Failure::new(format_args!("cannot open {}", path.display()), cause))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(Failure::plain(format!(
                "another server already runs on {}; stop it first, or choose another data directory",
                store.display()
            ))),
            Err(TryLockError::Error(cause)) => {
                Err(Failure::new(format_args!("cannot lock {}", path.display()), cause))
            }
        }
    }
}
