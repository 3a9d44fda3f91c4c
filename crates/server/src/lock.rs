//! One server for one data directory, and nobody beside an import.
//!
//! Events reach sockets within one process; two servers on one embedded store would each be
//! deaf to what the other accepts. The lock goes with the process, however it ends.
//!
//! On PostgreSQL there may be several servers; the database itself keeps them and an import off each other.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use adapters_postgres::ImportLock;

use crate::failure::Failure;
use crate::store::StoreAt;

/// Held as long as the server runs, and dropped after the store is closed: closing a descriptor of the store's file
/// gives up SQLite's own locks on it.
#[derive(Debug)]
pub(crate) struct StoreLock {
    #[expect(dead_code, reason = "the lock lives as long as the file is open")]
    beside: File,
    /// The same store may have another name, a hard or a symbolic link, and then another file beside it.
    #[expect(dead_code, reason = "the lock lives as long as the file is open")]
    itself: File,
}

impl StoreLock {
    /// Takes the lock beside the store's file, or says that another server holds it.
    pub(crate) fn take(store: &Path) -> Result<Self, Failure> {
        let directory = match store.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        make_directory(directory)?;
        let mut path = store.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let beside = Self::locked(&path, store)?;
        Ok(Self { beside, itself: Self::locked(store, store)? })
    }

    /// The file at `path`, made if it is not there, and locked for the server of `store`.
    fn locked(path: &Path, store: &Path) -> Result<File, Failure> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
        let file =
            file.map_err(|cause| Failure::new(format_args!("cannot open {}", path.display()), cause))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                Err(Failure::plain(format!("another server already runs on {}", store.display()))
                    .next("stop it first, or choose another data directory"))
            }
            Err(TryLockError::Error(cause)) => {
                Err(Failure::new(format_args!("cannot lock {}", path.display()), cause))
            }
        }
    }
}

/// Whether a server or an import works on the store in this file. Closing the file gives up SQLite's own locks on it, so
/// this process must not have the store open.
pub(crate) fn is_served(store: &Path) -> bool {
    File::open(store).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Makes the data directory, for its owner only, if it is not there.
pub(crate) fn make_directory(directory: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|cause| {
        Failure::new(format_args!("cannot use the data directory {}", directory.display()), cause)
    })
}

/// Held as long as a store is filled: no server works on it meanwhile.
pub(crate) enum FillLock {
    /// As a server's.
    File(#[expect(dead_code, reason = "the lock lives as long as this")] StoreLock),
    /// The database's.
    Postgres(ImportLock),
    /// Nobody else can have the store.
    Memory,
}

impl FillLock {
    /// Takes the lock, or says who has it.
    pub(crate) async fn take(store: &StoreAt) -> Result<Self, Failure> {
        match store {
            StoreAt::File(path) => Ok(Self::File(StoreLock::take(path)?)),
            StoreAt::Memory => Ok(Self::Memory),
            StoreAt::Postgres(database) => match ImportLock::begin(database).await {
                Ok(import_lock) => Ok(Self::Postgres(import_lock)),
                Err(cause) => Err(Failure::new("cannot fill the store", cause)),
            },
        }
    }

    /// Ready once others may be at work on the store; gives what to say then.
    pub(crate) async fn lost(&mut self) -> Failure {
        match self {
            Self::Postgres(import_lock) => import_lock.lost().await,
            Self::File(_) | Self::Memory => std::future::pending().await,
        }
        Failure::plain("lost the connection that keeps servers from using the store")
            .next("make sure that no server uses the store, and continue with --resume")
    }

    /// Lets others work on the store.
    pub(crate) async fn end(self) {
        if let Self::Postgres(import_lock) = self {
            import_lock.end().await;
        }
    }
}
