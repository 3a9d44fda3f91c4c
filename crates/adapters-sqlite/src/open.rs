//! Opening a store: its place, its connections, its schema.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use diesel::connection::SimpleConnection;
use diesel::sqlite::SqliteConnection;
use diesel::{Connection, ConnectionError};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

/// The schema, step by step; part of the program.
pub(crate) const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");

/// How many connections read.
const READERS: usize = 2;

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
    /// A thread could not be started.
    #[error("cannot start the store's threads")]
    Thread(#[source] std::io::Error),
}

/// The connections of an open store.
pub(crate) struct Connections {
    pub(crate) writer: SqliteConnection,
    /// Empty in memory, where one connection serves both.
    pub(crate) readers: Vec<SqliteConnection>,
}

/// Opens the connections and brings the schema up to date.
pub(crate) fn connect(location: &Location) -> Result<Connections, OpenError> {
    match location {
        Location::Memory => {
            let place = "the store in memory";
            let mut writer = establish(":memory:", place)?;
            prepare(&mut writer, place, "")?;
            migrate(&mut writer, place)?;
            Ok(Connections { writer, readers: Vec::new() })
        }
        Location::File(path) => {
            let file = make_file(path)?;
            // Another process may be opening the same store: one of them makes the schema.
            file.lock().map_err(|cause| OpenError::File { path: path.clone(), cause })?;
            let place = path.display().to_string();
            let url = path.to_str().ok_or_else(|| OpenError::Path { path: path.clone() })?;
            let mut writer = establish(url, &place)?;
            prepare(&mut writer, &place, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
            migrate(&mut writer, &place)?;
            let mut readers = Vec::with_capacity(READERS);
            for _ in 0..READERS {
                let mut reader = establish(url, &place)?;
                prepare(&mut reader, &place, "PRAGMA query_only = ON;")?;
                readers.push(reader);
            }
            Ok(Connections { writer, readers })
        }
    }
}

fn establish(url: &str, place: &str) -> Result<SqliteConnection, OpenError> {
    SqliteConnection::establish(url).map_err(|cause| OpenError::Connect { place: place.to_owned(), cause })
}

fn prepare(connection: &mut SqliteConnection, place: &str, own: &str) -> Result<(), OpenError> {
    let pragmas = format!(
        "PRAGMA busy_timeout = 5000; {own} PRAGMA foreign_keys = ON; PRAGMA cache_size = -2048; \
         PRAGMA temp_store = MEMORY;"
    );
    connection.batch_execute(&pragmas).map_err(|cause| OpenError::Use { place: place.to_owned(), cause })
}

/// Makes the directory and the file, readable by their owner only.
fn make_file(path: &Path) -> Result<File, OpenError> {
    let fault = |path: &Path| {
        let path = path.to_owned();
        move |cause| OpenError::File { path, cause }
    };
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory).map_err(fault(directory))?;
    }
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).read(true).mode(0o600);
    options.open(path).map_err(fault(path))
}

fn migrate(connection: &mut SqliteConnection, place: &str) -> Result<(), OpenError> {
    let fault = |cause| OpenError::Migrate { place: place.to_owned(), cause };
    let applied = connection.applied_migrations().map_err(fault)?;
    let known =
        <EmbeddedMigrations as diesel::migration::MigrationSource<diesel::sqlite::Sqlite>>::migrations(
            &MIGRATIONS,
        )
        .map_err(fault)?;
    let known = known.iter().map(|step| step.name().version().to_string()).collect::<Vec<_>>();
    if let Some(step) = applied.iter().map(ToString::to_string).find(|step| !known.contains(step)) {
        return Err(OpenError::Newer { place: place.to_owned(), step });
    }
    connection.run_pending_migrations(MIGRATIONS).map_err(fault)?;
    Ok(())
}
