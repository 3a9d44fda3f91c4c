//! Opening a store: connection and schema.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use diesel::migration::{MigrationConnection, MigrationSource};
use diesel::{Connection, ConnectionError, QueryableByName, RunQueryDsl};
use diesel_async::AsyncPgConnection;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use domain::store::SchemaSteps;

use crate::connect::Connect;

/// The migrations, embedded in the program.
pub(crate) const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");

/// Held by the one process that changes the schema; an arbitrary number.
const LOCK: i64 = 0x7061_726c_616e_6365;

/// Configuration of a store on PostgreSQL.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresConfig {
    /// `postgres://user:password@host:port/database?sslmode=…`; never printed.
    pub url: String,
    /// The maximum number of connections.
    pub connections: usize,
    /// How long a request waits for a connection.
    pub acquire_timeout: Duration,
    /// The statement time-out.
    pub statement_timeout: Duration,
}

impl PostgresConfig {
    /// The defaults for a store at this URL.
    pub fn at(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            connections: 16,
            acquire_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(15),
        }
    }

    /// The maximum number of connections for groups of requests for the next message.
    pub fn group_connections(&self) -> usize {
        (self.connections / 8).max(1)
    }

    /// Checks that the URL can be parsed and the files that it names can be used. The database is
    /// not contacted.
    ///
    /// # Errors
    /// [`OpenError::Url`]
    pub fn check(&self) -> Result<(), OpenError> {
        connector(self).map(|_| ())
    }
}

impl fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostgresConfig")
    }
}

/// The reason why a store could not be opened. No text holds a password.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL is not one of a PostgreSQL database.
    #[error("the database URL is not valid: {0}")]
    Url(String),
    /// There is no connection to the database.
    #[error("cannot connect to {database}")]
    Connect {
        /// The store.
        database: String,
        /// The cause.
        #[source]
        cause: ConnectionError,
    },
    /// The schema could not be brought up to date; it is unchanged.
    #[error("cannot bring {database} up to date")]
    Migrate {
        /// The store.
        database: String,
        /// The cause.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The applied steps of the schema could not be read.
    #[error("cannot read the schema of {database}")]
    Read {
        /// The store.
        database: String,
        /// The cause.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A newer version of the program has written the store.
    #[error(
        "{database} was written by a newer version of this program (schema step {step}); use that version"
    )]
    Newer {
        /// The store.
        database: String,
        /// The step that this version does not contain.
        step: String,
    },
    /// An import is running.
    #[error("an import into {database} is running; wait until it ends, or stop it")]
    BeingImported {
        /// The store.
        database: String,
    },
    /// The store is in use, so nothing can be imported.
    #[error("servers or other commands are using {database}; stop them first")]
    InUse {
        /// The store.
        database: String,
    },
    /// The database holds no Parlance store.
    #[error("there is no store in {database}")]
    Missing {
        /// The store.
        database: String,
    },
    /// The schema lacks steps of this version.
    #[error("{database} was written by an older version of this program (schema step {step} is missing)")]
    Older {
        /// The store.
        database: String,
        /// The first step that is missing.
        step: String,
    },
}

/// The parameters of connections to the store. The database is not contacted yet.
pub(crate) fn connector(config: &PostgresConfig) -> Result<Connect, OpenError> {
    Connect::to(&config.url, config.statement_timeout).map_err(OpenError::Url)
}

/// Applies the missing steps, all or none; of several processes that start at once, one applies
/// them and the others wait. Without `may_create`, a database without any step is left unchanged.
pub(crate) async fn migrate(connect: &Arc<Connect>, may_create: bool) -> Result<SchemaSteps, OpenError> {
    let database = connect.database();
    let connection =
        connect.bare().await.map_err(|cause| OpenError::Connect { database: database.clone(), cause })?;
    let fault = |cause| OpenError::Migrate { database: database.clone(), cause };
    let steps = tokio::task::spawn_blocking(move || take_steps(connection, may_create)).await;
    let steps = steps.map_err(|panicked| fault(Box::new(panicked)))?.map_err(fault)?;
    steps.map_err(|left| match left {
        LeftAlone::Newer(step) => OpenError::Newer { database, step },
        LeftAlone::Missing => OpenError::Missing { database },
    })
}

/// The applied steps, if they are those of this version. Nothing is written, so a standby is
/// sufficient.
pub(crate) async fn steps_as_they_are(connect: &Arc<Connect>) -> Result<SchemaSteps, OpenError> {
    let database = connect.database();
    let connection =
        connect.bare().await.map_err(|cause| OpenError::Connect { database: database.clone(), cause })?;
    let fault = |cause| OpenError::Read { database: database.clone(), cause };
    let read = tokio::task::spawn_blocking(move || read_steps(connection)).await;
    let all = read.map_err(|panicked| fault(Box::new(panicked)))?.map_err(fault)?;
    if all.is_empty() {
        return Err(OpenError::Missing { database });
    }
    let known = known_steps().map_err(fault)?;
    if let Some(step) = all.iter().find(|step| !known.contains(step)) {
        return Err(OpenError::Newer { database, step: step.clone() });
    }
    if let Some(step) = known.into_iter().find(|step| !all.contains(step)) {
        return Err(OpenError::Older { database, step });
    }
    Ok(SchemaSteps { all, applied: Vec::new() })
}

#[derive(QueryableByName)]
struct Step {
    #[diesel(sql_type = diesel::sql_types::Text)]
    version: String,
}

fn read_steps(connection: AsyncPgConnection) -> Result<Vec<String>, Fault> {
    let mut connection = AsyncConnectionWrapper::<AsyncPgConnection>::from(connection);
    Ok(steps_on(&mut connection)?)
}

/// The applied steps, in order; none if their list does not exist.
fn steps_on(
    connection: &mut AsyncConnectionWrapper<AsyncPgConnection>,
) -> Result<Vec<String>, diesel::result::Error> {
    let mut read = |sql| diesel::sql_query(sql).load::<Step>(connection);
    let list = "SELECT list::text AS version FROM to_regclass('__diesel_schema_migrations') list \
         WHERE list IS NOT NULL";
    if read(list)?.is_empty() {
        return Ok(Vec::new());
    }
    let steps = read("SELECT version::text FROM __diesel_schema_migrations ORDER BY version")?;
    Ok(steps.into_iter().map(|step| step.version).collect())
}

/// The steps of this version.
fn known_steps() -> Result<Vec<String>, Fault> {
    let known = MigrationSource::<diesel::pg::Pg>::migrations(&MIGRATIONS)?;
    Ok(known.iter().map(|step| step.name().version().to_string()).collect())
}

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// The reason why no step was applied.
enum LeftAlone {
    /// This step is not part of this version.
    Newer(String),
    /// There is no store, and none was to be created.
    Missing,
}

fn take_steps(
    connection: AsyncPgConnection,
    may_create: bool,
) -> Result<Result<SchemaSteps, LeftAlone>, Fault> {
    let known = known_steps()?;
    let mut connection = AsyncConnectionWrapper::<AsyncPgConnection>::from(connection);
    connection.transaction(|connection| {
        let lock = diesel::sql_query("SELECT pg_advisory_xact_lock($1)");
        lock.bind::<diesel::sql_types::BigInt, _>(LOCK).execute(connection)?;
        if !may_create && steps_on(connection)?.is_empty() {
            return Ok(Err(LeftAlone::Missing));
        }
        connection.setup()?;
        let mut all = connection.applied_migrations()?.iter().map(ToString::to_string).collect::<Vec<_>>();
        if let Some(unknown) = all.iter().find(|step| !known.contains(step)) {
            return Ok(Err(LeftAlone::Newer(unknown.clone())));
        }
        let applied = connection.run_pending_migrations(MIGRATIONS)?;
        let applied = applied.iter().map(ToString::to_string).collect::<Vec<_>>();
        all.extend(applied.iter().cloned());
        all.sort();
        Ok(Ok(SchemaSteps { all, applied }))
    })
}
