//! The lock that allows one server per data directory, and none during an import.
//!
//! Events reach sockets within one process; two servers on one embedded store would not see each
//! other's events. The lock ends with the process, however that ends.
//!
//! PostgreSQL can have several servers; the database itself keeps them and an import apart.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use adapters_postgres::ImportLock;

use crate::failure::Failure;
use crate::store::StoreAt;

/// How often, and with which pause, a lock is tried again.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(20);

/// Held while the server runs, and dropped after the store is closed: closing a descriptor of the
/// store's file releases SQLite's own locks on it.
#[derive(Debug)]
pub(crate) struct StoreLock {
    #[expect(dead_code, reason = "the lock lives as long as the file is open")]
    beside: File,
    /// The lock of the file itself: the store may have another name, a hard or symbolic link, and
    /// then another file beside it.
    #[expect(dead_code, reason = "the lock lives as long as the file is open")]
    itself: File,
}

impl StoreLock {
    /// Takes the lock beside the store's file, or reports that another server holds it.
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

    /// The file at `path`, created if needed, and locked for the server of `store`.
    fn locked(path: &Path, store: &Path) -> Result<File, Failure> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
        let file =
            file.map_err(|cause| Failure::new(format_args!("cannot open {}", path.display()), cause))?;
        let mut locked = file.try_lock();
        // A command may be looking whether a server runs, which takes a moment.
        for _ in 0..LOOKS {
            if !matches!(locked, Err(TryLockError::WouldBlock)) {
                break;
            }
            sleep(LOOK);
            locked = file.try_lock();
        }
        match locked {
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

/// Whether a server or an import works on the store in this file. Closing the file gives up SQLite's own locks
/// on it, so this process must not have the store open.
pub(crate) fn is_served(store: &Path) -> bool {
    File::open(store).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Makes the data directory, for its owner only, if it is not there.
pub(crate) fn make_directory(directory: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|cause| {
        Failure::new(format_args!("cannot use the data directory {}", directory.display()), cause)
    })
}

/// Held during an import: no server uses the store meanwhile.
pub(crate) enum FillLock {
    /// The lock of a server.
    File(#[expect(dead_code, reason = "the lock lives as long as this")] StoreLock),
    /// The lock of the database.
    Postgres(ImportLock),
    /// No other process can have the store.
    Memory,
}

impl FillLock {
    /// Takes the lock, or reports its holder.
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

    /// Resolves when the lock is lost; returns the failure to report.
    pub(crate) async fn lost(&mut self) -> Failure {
        match self {
            Self::Postgres(import_lock) => import_lock.lost().await,
            Self::File(_) | Self::Memory => std::future::pending().await,
        }
        Failure::plain("lost the connection that keeps servers from using the store")
            .next("make sure that no server uses the store, and continue with --resume")
    }

    /// Releases the lock.
    pub(crate) async fn end(self) {
        if let Self::Postgres(import_lock) = self {
            import_lock.end().await;
        }
    }
}
