//! Opening a store: location, connections, schema.
//!
//! No code here may hold a descriptor of the store's file in addition to SQLite's own: closing one releases
//! every lock that this process has on the file (as POSIX locks do). Another program that opens and
//! closes the store, such as a `sqlite3` that makes a backup, may then take itself for the last
//! user and delete the write-ahead log; everything accepted after that is lost.

use std::fs::{DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::migration::MigrationSource;
use diesel::sqlite::{Sqlite, SqliteConnection};
use diesel::{Connection, ConnectionError, QueryableByName, RunQueryDsl};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use domain::store::SchemaSteps;

use crate::error::is_locked;
use crate::reader::Connect;

/// The migrations, embedded in the program.
pub(crate) const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

/// The number of reading connections.
const READERS: usize = 2;

/// The maximum number of attempts to switch to a write-ahead log.
const WAL_TRIES: u32 = 100;

/// The location of a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    /// In this file, which is created if it does not exist, as is its directory.
    File(PathBuf),
    /// In memory: visible to one [`crate::SqliteStore`], and dropped with it.
    Memory,
}

/// The reason why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory or the file cannot be created or opened.
    #[error("cannot use {}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: std::io::Error,
    },
    /// The path cannot be passed to SQLite.
    #[error("the path {} is not UTF-8", path.display())]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// SQLite cannot open the store.
    #[error("cannot open {store}")]
    Connect {
        /// The store.
        store: String,
        /// The cause.
        #[source]
        cause: ConnectionError,
    },
    /// SQLite opened it, but it cannot be used: it is not a database, it is damaged, or the disk is
    /// full.
    #[error("cannot use {store}")]
    Use {
        /// The store.
        store: String,
        /// The cause.
        #[source]
        cause: diesel::result::Error,
    },
    /// It has tables, but none of Parlance.
    #[error("{store} is a database of another program")]
    Foreign {
        /// The file.
        store: String,
    },
    /// The schema could not be brought up to date.
    #[error("cannot bring {store} up to date")]
    Migrate {
        /// The store.
        store: String,
        /// The cause.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A newer version of the program has written the store.
    #[error("{store} was written by a newer version of this program (schema step {step}); use that version")]
    Newer {
        /// The store.
        store: String,
        /// The step that this version does not contain.
        step: String,
    },
    /// The schema lacks steps of this version.
    #[error("{store} was written by an older version of this program (schema step {step} is missing)")]
    Older {
        /// The store.
        store: String,
        /// The first step that is missing.
        step: String,
    },
    /// A thread could not be started.
    #[error("cannot start the store's threads")]
    Thread(#[source] std::io::Error),
}

/// The connections of an open store.
pub(crate) struct OpenedDatabase {
    pub(crate) writer: SqliteConnection,
    /// Empty for a store in memory, whose one connection serves both purposes.
    pub(crate) readers: Vec<SqliteConnection>,
    /// Makes another reading connection.
    pub(crate) reader: Connect,
    /// The steps of the schema.
    pub(crate) steps: SchemaSteps,
}

/// Settings of the connection that writes a file.
///
/// A message touches a page of each index, and messages of many chats touch different pages, so the
/// same pages are needed again soon. The writer caches 16 MiB of them, and checkpoints the log when
/// it has 4,096 pages (16 MiB) instead of the default 1,000: each page is copied once, however
/// often it was written. A start after a crash reads that much more.
///
/// A commit is on the disk before it is answered: `FULL` syncs the log at every commit, and where
/// `fsync` stops at the drive's cache (macOS), `fullfsync` flushes that too. Only the writer
/// commits; readers refuse to write.
const WRITER: &str = "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; \
     PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 4096; \
     PRAGMA cache_size = -16384;";

/// Opens the connections and brings the schema up to date.
pub(crate) fn connect(location: &Location) -> Result<OpenedDatabase, OpenError> {
    match location {
        Location::Memory => {
            let store = "the store in memory";
            let mut writer = establish(":memory:", store)?;
            prepare(&mut writer, store, "")?;
            let steps = migrate(&mut writer, store)?;
            let reader: Connect = Arc::new(|| Err("a store in memory has one connection".to_owned()));
            Ok(OpenedDatabase { writer, readers: Vec::new(), reader, steps })
        }
        Location::File(path) => {
            make_file(path)?;
            let store = path.display().to_string();
            let url = url_of(path)?;
            let mut writer = establish(&url, &store)?;
            prepare(&mut writer, &store, WRITER)?;
            refuse_foreign(&mut writer, &store)?;
            write_ahead(&mut writer, &store)?;
            let steps = migrate(&mut writer, &store)?;
            let mut readers = Vec::with_capacity(READERS);
            for _ in 0..READERS {
                readers.push(reader(&url, &store)?);
            }
            let again = move || reader(&url, &store).map_err(|error| error.to_string());
            Ok(OpenedDatabase { writer, readers, reader: Arc::new(again), steps })
        }
    }
}

/// Opens reading connections if the file exists and no step is missing.
pub(crate) fn connect_as_it_is(path: &Path) -> Result<OpenedDatabase, OpenError> {
    // SQLite would create it.
    std::fs::metadata(path).map_err(|cause| OpenError::File { path: path.to_owned(), cause })?;
    let store = path.display().to_string();
    let url = url_of(path)?;
    let mut writer = reader(&url, &store)?;
    let steps = steps_as_they_are(&mut writer, &store)?;
    let mut readers = Vec::with_capacity(READERS);
    for _ in 0..READERS {
        readers.push(reader(&url, &store)?);
    }
    let again = move || reader(&url, &store).map_err(|error| error.to_string());
    Ok(OpenedDatabase { writer, readers, reader: Arc::new(again), steps })
}

/// The absolute path for SQLite, so that no name is taken for a URL or `:memory:`.
fn url_of(path: &Path) -> Result<String, OpenError> {
    let whole =
        std::path::absolute(path).map_err(|cause| OpenError::File { path: path.to_owned(), cause })?;
    whole.into_os_string().into_string().map_err(|_| OpenError::Path { path: path.to_owned() })
}

fn reader(url: &str, store: &str) -> Result<SqliteConnection, OpenError> {
    let mut reader = establish(url, store)?;
    prepare(&mut reader, store, "PRAGMA query_only = ON;")?;
    Ok(reader)
}

fn establish(url: &str, store: &str) -> Result<SqliteConnection, OpenError> {
    SqliteConnection::establish(url).map_err(|cause| OpenError::Connect { store: store.to_owned(), cause })
}

fn prepare(connection: &mut SqliteConnection, store: &str, own: &str) -> Result<(), OpenError> {
    let pragmas = format!(
        "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON; PRAGMA cache_size = -2048; \
         PRAGMA temp_store = MEMORY; {own}"
    );
    connection.batch_execute(&pragmas).map_err(|cause| OpenError::Use { store: store.to_owned(), cause })
}

/// Switches the file to a write-ahead log.
///
/// SQLite does not wait if another process is doing the same, so this retries.
fn write_ahead(connection: &mut SqliteConnection, store: &str) -> Result<(), OpenError> {
    let mut tries = 0;
    loop {
        match connection.batch_execute("PRAGMA journal_mode = WAL") {
            Ok(()) => return Ok(()),
            Err(error) if tries < WAL_TRIES && is_locked(&error) => tries += 1,
            Err(cause) => return Err(OpenError::Use { store: store.to_owned(), cause }),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Creates the directory and an empty file, for their owner only; SQLite gives its additional files
/// the same mode.
fn make_file(path: &Path) -> Result<(), OpenError> {
    /// Prevents that another thread has opened the new file before it is closed here.
    static MAKING: Mutex<()> = Mutex::new(());

    let fault = |path: &Path, cause| OpenError::File { path: path.to_owned(), cause };
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(|cause| match cause.kind() {
            // "File exists" would not help the reader.
            ErrorKind::AlreadyExists => fault(directory, ErrorKind::NotADirectory.into()),
            _ => fault(directory, cause),
        })?;
    }
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(cause) if cause.kind() == ErrorKind::AlreadyExists && !path.is_dir() => Ok(()),
        Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {
            Err(fault(path, ErrorKind::IsADirectory.into()))
        }
        Err(cause) => Err(fault(path, cause)),
    }
}

/// The steps of this version.
fn known_steps() -> Result<Vec<String>, Box<dyn std::error::Error + Send + Sync>> {
    let known = MigrationSource::<Sqlite>::migrations(&MIGRATIONS)?;
    Ok(known.iter().map(|step| step.name().version().to_string()).collect())
}

#[derive(QueryableByName)]
struct Step {
    #[diesel(sql_type = diesel::sql_types::Text)]
    version: String,
}

/// Refuses the database of another program.
fn refuse_foreign(connection: &mut SqliteConnection, store: &str) -> Result<(), OpenError> {
    let tables =
        "SELECT name AS version FROM sqlite_master ORDER BY name <> '__diesel_schema_migrations' LIMIT 1";
    let first = diesel::sql_query(tables).load::<Step>(connection);
    let first = first.map_err(|cause| OpenError::Use { store: store.to_owned(), cause })?;
    if first.first().is_some_and(|table| table.version != "__diesel_schema_migrations") {
        return Err(OpenError::Foreign { store: store.to_owned() });
    }
    Ok(())
}

/// The applied steps, if they are those of this version. Nothing is written, not even an empty list
/// of steps.
fn steps_as_they_are(connection: &mut SqliteConnection, store: &str) -> Result<SchemaSteps, OpenError> {
    let store = || store.to_owned();
    let known = known_steps().map_err(|cause| OpenError::Migrate { store: store(), cause })?;
    let mut read = |sql| {
        let steps = diesel::sql_query(sql).load::<Step>(connection);
        steps.map_err(|cause| OpenError::Use { store: store(), cause })
    };
    let list = "SELECT name AS version FROM sqlite_master WHERE name = '__diesel_schema_migrations'";
    let all = if read(list)?.is_empty() {
        Vec::new()
    } else {
        read("SELECT version FROM __diesel_schema_migrations ORDER BY version")?
    };
    let all = all.into_iter().map(|step| step.version).collect::<Vec<_>>();
    if let Some(step) = all.iter().find(|step| !known.contains(step)) {
        return Err(OpenError::Newer { store: store(), step: step.clone() });
    }
    if let Some(step) = known.into_iter().find(|step| !all.contains(step)) {
        return Err(OpenError::Older { store: store(), step });
    }
    Ok(SchemaSteps { all, applied: Vec::new() })
}

/// Applies the missing steps, all or none, while no other process can write.
fn migrate(connection: &mut SqliteConnection, store: &str) -> Result<SchemaSteps, OpenError> {
    let fault = |cause| OpenError::Migrate { store: store.to_owned(), cause };
    let known = known_steps().map_err(fault)?;
    let steps = connection.immediate_transaction(|connection| {
        let mut all = connection.applied_migrations()?.iter().map(ToString::to_string).collect::<Vec<_>>();
        if let Some(unknown) = all.iter().find(|step| !known.contains(step)) {
            return Ok(Err(unknown.clone()));
        }
        let applied = connection.run_pending_migrations(MIGRATIONS)?;
        let applied = applied.iter().map(ToString::to_string).collect::<Vec<_>>();
        all.extend(applied.iter().cloned());
        all.sort();
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(Ok(SchemaSteps { all, applied }))
    });
    steps.map_err(fault)?.map_err(|step| OpenError::Newer { store: store.to_owned(), step })
}

#[cfg(test)]
mod tests;
