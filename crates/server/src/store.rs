//! The configured store, of either kind.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use adapters_postgres::{PostgresConfig, PostgresStore, StoreUse};
use adapters_sqlite::{Location, SqliteStore};
use async_trait::async_trait;
use domain::node::NodeRepository;
use domain::services::Repositories;
use domain::store::{SchemaSteps, StoreError};
use domain::time::Timestamp;
use tokio::sync::watch;

use crate::config::Config;
use crate::failure::Failure;
use crate::progress::Spinner;

/// The location of the data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreAt {
    /// This SQLite file.
    File(PathBuf),
    /// In memory, and lost with the process.
    Memory,
    /// A PostgreSQL database.
    Postgres(PostgresConfig),
}

/// Every port of a store, and operations on the store as a whole.
#[async_trait]
pub(crate) trait Store: Repositories {
    /// Reads from the store, to check that it answers.
    async fn ping(&self) -> Result<(), StoreError>;

    /// The time of its machine; `None` if that is this one.
    async fn clock(&self) -> Result<Option<Timestamp>, StoreError>;

    /// The time of the newest message, if the store has no clock of its own.
    async fn newest_message(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(None)
    }

    /// Settings of the database that can lose acknowledged data in a crash.
    async fn unsafe_settings(&self) -> Result<Vec<String>, StoreError>;

    /// The steps of its schema.
    fn steps(&self) -> &SchemaSteps;

    /// The number of commits with an unknown outcome; changes with each. `None` where there can be none.
    fn commits_in_doubt(&self) -> Option<watch::Receiver<u64>>;

    /// The store of nodes; `None` if it has a single server.
    fn nodes(self: Arc<Self>) -> Option<Arc<dyn NodeRepository>>;

    /// Finishes the work that is under way, and closes the store; later calls fail as unavailable.
    async fn close(&self);
}

#[async_trait]
impl Store for SqliteStore {
    async fn ping(&self) -> Result<(), StoreError> {
        Self::ping(self).await
    }

    async fn clock(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(None)
    }

    async fn newest_message(&self) -> Result<Option<Timestamp>, StoreError> {
        Self::newest_message(self).await
    }

    async fn unsafe_settings(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    fn steps(&self) -> &SchemaSteps {
        Self::steps(self)
    }

    fn commits_in_doubt(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    fn nodes(self: Arc<Self>) -> Option<Arc<dyn NodeRepository>> {
        None
    }

    async fn close(&self) {
        Self::close(self);
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn ping(&self) -> Result<(), StoreError> {
        Self::ping(self).await
    }

    async fn clock(&self) -> Result<Option<Timestamp>, StoreError> {
        Self::clock(self).await.map(Some)
    }

    async fn unsafe_settings(&self) -> Result<Vec<String>, StoreError> {
        Self::unsafe_settings(self).await
    }

    fn steps(&self) -> &SchemaSteps {
        Self::steps(self)
    }

    fn commits_in_doubt(&self) -> Option<watch::Receiver<u64>> {
        Some(Self::commits_in_doubt(self))
    }

    fn nodes(self: Arc<Self>) -> Option<Arc<dyn NodeRepository>> {
        Some(self)
    }

    async fn close(&self) {
        self.shut_down().await;
    }
}

/// The next step if a store does not answer.
pub(crate) const NEXT: &str = "find the reason with `parlance doctor`";

/// Runs `work` on the store, for a command, and closes it. A store in memory is refused.
pub(crate) async fn with<T>(
    config: &Config,
    work: impl AsyncFnOnce(&Arc<dyn Store>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    config.refuse_memory()?;
    let opened = open(config).await?;
    let spinner = Spinner::begin("working");
    let done = work(&opened).await;
    drop(spinner);
    opened.close().await;
    done
}

/// Opens the store for a command; migrates its schema, and seals audit entries. A missing store is
/// not created, and one with an unfinished import is refused.
pub(crate) async fn open(config: &Config) -> Result<Arc<dyn Store>, Failure> {
    if let StoreAt::File(path) = &config.store
        // The first start creates an empty file, and may have been interrupted.
        && std::fs::metadata(path).map_or(true, |there| there.is_file() && there.len() == 0)
    {
        return Err(missing(path));
    }
    let _spinner = Spinner::begin("opening the store");
    let store = open_whole(config, false).await?;
    // A server does it continuously. Without one, entries of commands wait for the next command.
    while store.seal_audit(SEALED_AT_ONCE).await.unwrap_or(0) > 0 {}
    Ok(store)
}

/// The number of audit entries that are sealed per transaction.
const SEALED_AT_ONCE: u32 = 500;

/// Does the same, but creates the store if it does not exist.
pub(crate) async fn open_or_create(config: &Config) -> Result<Arc<dyn Store>, Failure> {
    open_whole(config, true).await
}

async fn open_whole(config: &Config, may_create: bool) -> Result<Arc<dyn Store>, Failure> {
    let opened = match &config.store {
        StoreAt::File(_) | StoreAt::Memory => open_alone(config).await?,
        StoreAt::Postgres(database) => {
            let store_use = StoreUse::begin(database).await.map_err(unopened)?;
            let store = if may_create {
                PostgresStore::open(database).await
            } else {
                PostgresStore::open_existing(database).await
            };
            let store = store.map_err(|cause| match cause {
                adapters_postgres::OpenError::Missing { .. } => {
                    Failure::plain(cause.to_string()).next(OTHER_STORE)
                }
                cause => unopened(cause),
            })?;
            Arc::new(store.with(store_use)) as Arc<dyn Store>
        }
    };
    let whole = refuse_part(&opened).await;
    if whole.is_err() {
        opened.close().await;
    }
    whole.map(|()| opened)
}

/// The next step if there is no store at the location.
const OTHER_STORE: &str = "name the store with --database-url, --data-dir, or --env-file (see `parlance config show`), \
 or create one with `parlance serve`, `migrate`, or `import`";

/// There is no store in this file.
pub(crate) fn missing(path: &Path) -> Failure {
    no_store_at(path).next(OTHER_STORE)
}

fn no_store_at(path: &Path) -> Failure {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Failure::plain(format!("there is no store at {}", whole.display()))
}

/// Refuses a store that holds part of an archive.
pub(crate) async fn refuse_part(store: &Arc<dyn Store>) -> Result<(), Failure> {
    let begun = store.unfinished_import().await;
    let begun = begun.map_err(|cause| Failure::new("cannot read the store", cause).next(NEXT))?;
    begun.map_or(Ok(()), |begun| Err(Failure::plain(part_of_an_archive(begun)).next(FINISH_IMPORT)))
}

/// The fault of a store with an unfinished import that began then.
pub(crate) fn part_of_an_archive(begun: Timestamp) -> String {
    format!("the store holds only part of an archive: an import into it began at {begun} and is not finished")
}

/// The remedy.
pub(crate) const FINISH_IMPORT: &str =
    "finish it with `parlance import --from FILE --resume`, or start over with a new store";

/// Opens the store for exclusive use; migrates its schema.
pub(crate) async fn open_alone(config: &Config) -> Result<Arc<dyn Store>, Failure> {
    let embedded = |location: &Location| -> Result<Arc<dyn Store>, Failure> {
        Ok(Arc::new(SqliteStore::open(location).map_err(unopened)?))
    };
    match &config.store {
        StoreAt::File(path) => embedded(&Location::File(path.clone())),
        StoreAt::Memory => embedded(&Location::Memory),
        StoreAt::Postgres(database) => Ok(Arc::new(PostgresStore::open(database).await.map_err(unopened)?)),
    }
}

fn unopened(cause: impl std::error::Error) -> Failure {
    not_opened(cause).next(NEXT)
}

fn not_opened(cause: impl std::error::Error) -> Failure {
    Failure::new("cannot open the store", cause)
}

/// Opens the store for reading; its schema is not touched.
pub(crate) async fn open_as_it_is(config: &Config) -> Result<Arc<dyn Store>, Failure> {
    read_as_it_is(config).await.map_err(|unread| match unread {
        Unread::Behind(why) => {
            let next = "run `parlance migrate` first, or use the version that wrote the store";
            Failure::plain(format!("cannot read the store: {why}")).next(next)
        }
        Unread::Ahead(failure) => failure.next(NEXT),
        Unread::Unopened(failure, next) => failure.next(next),
    })
}

/// The reason why a store cannot be read without a migration.
pub(crate) enum Unread {
    /// Its schema lacks steps.
    Behind(String),
    /// A newer version has written it.
    Ahead(Failure),
    /// Anything else, with what a command says to do about it.
    Unopened(Failure, &'static str),
}

/// Does the same, with the reason of a refusal.
pub(crate) async fn read_as_it_is(config: &Config) -> Result<Arc<dyn Store>, Unread> {
    use adapters_postgres::OpenError as PostgresError;
    use adapters_sqlite::OpenError as SqliteError;
    match &config.store {
        StoreAt::File(path) if !path.exists() => Err(Unread::Unopened(no_store_at(path), OTHER_STORE)),
        StoreAt::File(path) => match SqliteStore::open_as_it_is(path) {
            Ok(store) => Ok(Arc::new(store)),
            Err(cause @ SqliteError::Older { .. }) => Err(Unread::Behind(cause.to_string())),
            Err(cause @ SqliteError::Newer { .. }) => Err(Unread::Ahead(not_opened(cause))),
            Err(cause) => Err(Unread::Unopened(not_opened(cause), NEXT)),
        },
        StoreAt::Postgres(database) => match PostgresStore::open_as_it_is(database).await {
            Ok(store) => Ok(Arc::new(store)),
            Err(cause @ PostgresError::Older { .. }) => Err(Unread::Behind(cause.to_string())),
            Err(cause @ PostgresError::Newer { .. }) => Err(Unread::Ahead(not_opened(cause))),
            Err(cause @ PostgresError::Missing { .. }) => {
                Err(Unread::Unopened(Failure::plain(cause.to_string()), OTHER_STORE))
            }
            Err(cause) => Err(Unread::Unopened(not_opened(cause), NEXT)),
        },
        // What is in memory is new, and has the schema of this version.
        StoreAt::Memory => open_alone(config).await.map_err(|failure| Unread::Unopened(failure, NEXT)),
    }
}
