//! Opening a store: its place, its connections, its schema.
//!
//! Nothing here may hold a descriptor of the store's file beside SQLite's own: closing one gives
//! up every lock that this process has on the file (that is how POSIX locks work). Another program
//! that opens and closes the store, a `sqlite3` that makes a backup, may then take itself for the
//! last one and delete the write-ahead log under us; what is accepted from then on is lost.

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

/// The schema, step by step; part of the program.
pub(crate) const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

/// How many connections read.
const READERS: usize = 2;

/// How often the switch to a write-ahead log is tried again.
const WAL_TRIES: u32 = 100;

/// Where a store is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    /// In this file, which is made if it is not there, like the directory it stands in.
    File(PathBuf),
    /// In memory: seen by one [`crate::SqliteStore`] and gone with it.
    Memory,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory or the file cannot be made or opened.
    #[error("cannot use {}", path.display())]
    File {
        /// Which file or directory.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The path cannot be handed to SQLite.
    #[error("the path {} is not UTF-8", path.display())]
    Path {
        /// Which path.
        path: PathBuf,
    },
    /// SQLite cannot open it.
    #[error("cannot open {place}")]
    Connect {
        /// Which store.
        place: String,
        /// Why.
        #[source]
        cause: ConnectionError,
    },
    /// SQLite opened it, but it cannot be used: not a database, damaged, a full disk.
    #[error("cannot use {place}")]
    Use {
        /// Which store.
        place: String,
        /// Why.
        #[source]
        cause: diesel::result::Error,
    },
    /// It has tables, but none of ours.
    #[error("{place} is a database of another program")]
    Foreign {
        /// Which file.
        place: String,
    },
    /// The schema could not be brought up to date.
    #[error("cannot bring {place} up to date")]
    Migrate {
        /// Which store.
        place: String,
        /// Why.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A newer version of the program has written it.
    #[error("{place} was written by a newer version of this program (schema step {step}); use that version")]
    Newer {
        /// Which store.
        place: String,
        /// The step that this version does not know.
        step: String,
    },
    /// It has not all steps of this version.
    #[error("{place} was written by an older version of this program (schema step {step} is missing)")]
    Older {
        /// Which store.
        place: String,
        /// The first step that is missing.
        step: String,
    },
    /// A thread could not be started.
    #[error("cannot start the store's threads")]
    Thread(#[source] std::io::Error),
}

/// The connections of an open store.
pub(crate) struct Connections {
    pub(crate) writer: SqliteConnection,
    /// Empty in memory, where one connection serves both.
    pub(crate) readers: Vec<SqliteConnection>,
    /// Makes one more of them.
    pub(crate) reader: Connect,
    /// The schema's steps.
    pub(crate) steps: SchemaSteps,
}

/// How the connection writes that writes a file.
///
/// A message touches a page of each of its indexes, and messages of many rooms different ones. So the same pages come
/// back soon: the writer keeps 16 MiB of them, and copies the log into the file when that has 4,096 (16 MiB) and not, as
/// usual, 1,000: each page once, however often it was written. A start after a crash reads that much more.
///
/// A commit is on the disk before it is answered: `FULL` syncs the log at every commit, and where `fsync` stops at the
/// drive's cache (macOS) `fullfsync` goes on through it. The writer alone commits; readers refuse to write.
const WRITER: &str = "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; \
     PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 4096; \
     PRAGMA cache_size = -16384;";

/// Opens the connections and brings the schema up to date.
pub(crate) fn connect(location: &Location) -> Result<Connections, OpenError> {
    match location {
        Location::Memory => {
            let place = "the store in memory";
            let mut writer = establish(":memory:", place)?;
            prepare(&mut writer, place, "")?;
            let steps = migrate(&mut writer, place)?;
            let reader: Connect = Arc::new(|| Err("a store in memory has one connection".to_owned()));
            Ok(Connections { writer, readers: Vec::new(), reader, steps })
        }
        Location::File(path) => {
            make_file(path)?;
            let place = path.display().to_string();
            let url = url_of(path)?;
            let mut writer = establish(&url, &place)?;
            prepare(&mut writer, &place, WRITER)?;
            refuse_foreign(&mut writer, &place)?;
            write_ahead(&mut writer, &place)?;
            let steps = migrate(&mut writer, &place)?;
            let mut readers = Vec::with_capacity(READERS);
            for _ in 0..READERS {
                readers.push(reader(&url, &place)?);
            }
            let again = move || reader(&url, &place).map_err(|error| error.to_string());
            Ok(Connections { writer, readers, reader: Arc::new(again), steps })
        }
    }
}

/// Opens connections that only read, if the file is there and no step is missing.
pub(crate) fn connect_as_it_is(path: &Path) -> Result<Connections, OpenError> {
    // SQLite would make it.
    std::fs::metadata(path).map_err(|cause| OpenError::File { path: path.to_owned(), cause })?;
    let place = path.display().to_string();
    let url = url_of(path)?;
    let mut writer = reader(&url, &place)?;
    let steps = steps_as_they_are(&mut writer, &place)?;
    let mut readers = Vec::with_capacity(READERS);
    for _ in 0..READERS {
        readers.push(reader(&url, &place)?);
    }
    let again = move || reader(&url, &place).map_err(|error| error.to_string());
    Ok(Connections { writer, readers, reader: Arc::new(again), steps })
}

/// The path as SQLite is told it: absolute, so that no name is taken for a URL or `:memory:`.
fn url_of(path: &Path) -> Result<String, OpenError> {
    let whole =
        std::path::absolute(path).map_err(|cause| OpenError::File { path: path.to_owned(), cause })?;
    whole.into_os_string().into_string().map_err(|_| OpenError::Path { path: path.to_owned() })
}

fn reader(url: &str, place: &str) -> Result<SqliteConnection, OpenError> {
    let mut reader = establish(url, place)?;
    prepare(&mut reader, place, "PRAGMA query_only = ON;")?;
    Ok(reader)
}

fn establish(url: &str, place: &str) -> Result<SqliteConnection, OpenError> {
    SqliteConnection::establish(url).map_err(|cause| OpenError::Connect { place: place.to_owned(), cause })
}

fn prepare(connection: &mut SqliteConnection, place: &str, own: &str) -> Result<(), OpenError> {
    let pragmas = format!(
        "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON; PRAGMA cache_size = -2048; \
         PRAGMA temp_store = MEMORY; {own}"
    );
    connection.batch_execute(&pragmas).map_err(|cause| OpenError::Use { place: place.to_owned(), cause })
}

/// Switches the file to a write-ahead log.
///
/// SQLite does not wait when another process is doing the same, so this asks again.
fn write_ahead(connection: &mut SqliteConnection, place: &str) -> Result<(), OpenError> {
    let mut tries = 0;
    loop {
        match connection.batch_execute("PRAGMA journal_mode = WAL") {
            Ok(()) => return Ok(()),
            Err(error) if tries < WAL_TRIES && is_locked(&error) => tries += 1,
            Err(cause) => return Err(OpenError::Use { place: place.to_owned(), cause }),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Makes the directory and an empty file, for their owner only; SQLite gives the files
/// that it puts beside it the same mode.
fn make_file(path: &Path) -> Result<(), OpenError> {
    /// So that no other thread has opened the new file before it is closed here.
    static MAKING: Mutex<()> = Mutex::new(());

    let fault = |path: &Path, cause| OpenError::File { path: path.to_owned(), cause };
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(|cause| match cause.kind() {
            // "File exists" would say nothing to whoever reads it.
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

/// The steps that this version knows.
fn known_steps() -> Result<Vec<String>, Box<dyn std::error::Error + Send + Sync>> {
    let known = MigrationSource::<Sqlite>::migrations(&MIGRATIONS)?;
    Ok(known.iter().map(|step| step.name().version().to_string()).collect())
}

#[derive(QueryableByName)]
struct Step {
    #[diesel(sql_type = diesel::sql_types::Text)]
    version: String,
}

/// Leaves the database of another program as it is.
fn refuse_foreign(connection: &mut SqliteConnection, place: &str) -> Result<(), OpenError> {
    let tables =
        "SELECT name AS version FROM sqlite_master ORDER BY name <> '__diesel_schema_migrations' LIMIT 1";
    let first = diesel::sql_query(tables).load::<Step>(connection);
    let first = first.map_err(|cause| OpenError::Use { place: place.to_owned(), cause })?;
    if first.first().is_some_and(|table| table.version != "__diesel_schema_migrations") {
        return Err(OpenError::Foreign { place: place.to_owned() });
    }
    Ok(())
}

/// The steps that were taken, if they are those of this version. Nothing is written, not even the empty
/// list of them.
fn steps_as_they_are(connection: &mut SqliteConnection, place: &str) -> Result<SchemaSteps, OpenError> {
    let place = || place.to_owned();
    let known = known_steps().map_err(|cause| OpenError::Migrate { place: place(), cause })?;
    let mut read = |sql| {
        let steps = diesel::sql_query(sql).load::<Step>(connection);
        steps.map_err(|cause| OpenError::Use { place: place(), cause })
    };
    let list = "SELECT name AS version FROM sqlite_master WHERE name = '__diesel_schema_migrations'";
    let all = if read(list)?.is_empty() {
        Vec::new()
    } else {
        read("SELECT version FROM __diesel_schema_migrations ORDER BY version")?
    };
    let all = all.into_iter().map(|step| step.version).collect::<Vec<_>>();
    if let Some(step) = all.iter().find(|step| !known.contains(step)) {
        return Err(OpenError::Newer { place: place(), step: step.clone() });
    }
    if let Some(step) = known.into_iter().find(|step| !all.contains(step)) {
        return Err(OpenError::Older { place: place(), step });
    }
    Ok(SchemaSteps { all, applied: Vec::new() })
}

/// Takes the steps that are missing, all or none, while no other process can write.
fn migrate(connection: &mut SqliteConnection, place: &str) -> Result<SchemaSteps, OpenError> {
    let fault = |cause| OpenError::Migrate { place: place.to_owned(), cause };
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
    steps.map_err(fault)?.map_err(|step| OpenError::Newer { place: place.to_owned(), step })
}

#[cfg(test)]
mod tests;
