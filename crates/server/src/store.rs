//! The store that the configuration names, whichever it is.

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

/// Where the data is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreAt {
    /// In this file of SQLite.
    File(PathBuf),
    /// In memory, and gone with the process.
    Memory,
    /// In a database of PostgreSQL.
    Postgres(PostgresConfig),
}

/// Every port of a store, and what else is done with one as a whole.
#[async_trait]
pub(crate) trait Store: Repositories {
    /// Whether it answers: something is really read.
    async fn ping(&self) -> Result<(), StoreError>;

    /// What time it is where it runs; `None` if that is here.
    async fn clock(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Settings of the database by which a crash loses what was acknowledged.
    async fn unsafe_settings(&self) -> Result<Vec<String>, StoreError>;

    /// The steps of its schema.
    fn steps(&self) -> &SchemaSteps;

    /// The number of commits with an unknown outcome; changes with each. `None` where there can be none.
    fn commits_in_doubt(&self) -> Option<watch::Receiver<u64>>;

    /// What it keeps of the servers that are several on it; `None` if there is never more than one.
    fn nodes(self: Arc<Self>) -> Option<Arc<dyn NodeRepository>>;

    /// Ends it; later calls are answered as unavailable.
    fn close(&self);
}

#[async_trait]
impl Store for SqliteStore {
    async fn ping(&self) -> Result<(), StoreError> {
        Self::ping(self).await
    }

    async fn clock(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(None)
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

    fn close(&self) {
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

    fn close(&self) {
        Self::close(self);
    }
}

/// What to do when a store gives no answer.
pub(crate) const NEXT: &str = "find the reason with `parlance doctor`";

/// Does `work` on the store, for a command, and closes it. A store in memory is refused.
pub(crate) async fn with<T>(
    config: &Config,
    work: impl AsyncFnOnce(&Arc<dyn Store>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    config.refuse_memory()?;
    let opened = open(config).await?;
    let spinner = Spinner::begin("working");
    let done = work(&opened).await;
    drop(spinner);
    opened.close();
    done
}

/// Opens the store to work on it, for a command; its schema is brought up to date, and audit entries that are not sealed
/// yet are sealed. A store that is not there is not made, and one that an import has not filled to its end is refused.
pub(crate) async fn open(config: &Config) -> Result<Arc<dyn Store>, Failure> {
    if let StoreAt::File(path) = &config.store
        // The first start makes an empty file, and may have been interrupted.
        && std::fs::metadata(path).map_or(true, |there| there.is_file() && there.len() == 0)
    {
        return Err(missing(path));
    }
    let _spinner = Spinner::begin("opening the store");
    let store = open_whole(config, false).await?;
    // A server does it all the time. Without one, entries that commands wrote wait for the next command.
    while store.seal_audit(SEALED_AT_ONCE).await.unwrap_or(0) > 0 {}
    Ok(store)
}

/// How many audit entries are sealed in one transaction.
const SEALED_AT_ONCE: u32 = 500;

/// The same, but makes the store if it is not there.
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
        opened.close();
    }
    whole.map(|()| opened)
}

/// What to do when there is no store where it was looked for.
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

/// Refuses a store that holds a part of an archive.
pub(crate) async fn refuse_part(store: &Arc<dyn Store>) -> Result<(), Failure> {
    let begun = store.unfinished_import().await;
    let begun = begun.map_err(|cause| Failure::new("cannot read the store", cause).next(NEXT))?;
    begun.map_or(Ok(()), |begun| Err(Failure::plain(part_of_an_archive(begun)).next(FINISH_IMPORT)))
}

/// What is wrong with a store into which an import began then and has not ended.
pub(crate) fn part_of_an_archive(begun: Timestamp) -> String {
    format!("the store holds only part of an archive: an import into it began at {begun} and is not finished")
}

/// What to do about it.
pub(crate) const FINISH_IMPORT: &str =
    "finish it with `parlance import --from FILE --resume`, or start over with a new store";

/// Opens the store that nobody else may work on now; its schema is brought up to date.
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

/// Opens the store to read it; its schema is not touched.
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

/// Why a store cannot be read as it is.
pub(crate) enum Unread {
    /// Its schema lacks steps.
    Behind(String),
    /// A newer version has written it.
    Ahead(Failure),
    /// Anything else, with what a command says to do about it.
    Unopened(Failure, &'static str),
}

/// The same, with the reason of a refusal.
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
