//! The lock of a store: shared by any number of servers and commands, or held exclusively by an
//! import.
//!
//! It is a session-level advisory lock on a connection of its own, so it ends with the process,
//! however that ends. Every schema of a database has its own lock.

use std::sync::Arc;
use std::time::Duration;

use diesel::ConnectionResult;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Client;

use crate::connect::{Connect, connection_error};
use crate::open::{OpenError, PostgresConfig, connector};

/// How long to wait for a process that is ending.
const PATIENCE: Duration = Duration::from_secs(2);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// The pause after the connection was lost, and between attempts to reconnect.
const AWAY: Duration = Duration::from_secs(1);

/// The time limit for a database that has been unavailable.
const SLOW: Duration = Duration::from_secs(10);

/// The database soon detects the loss of this host, and keeps an idle session.
const SETTINGS: &str = "SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 3; \
     SET tcp_keepalives_count = 3; \
     SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'";

/// The first number is arbitrary; keys of two numbers never collide with keys of one.
macro_rules! try_lock {
    ($function:literal) => {
        concat!(
            "SELECT ",
            $function,
            "(1885434476, coalesce(to_regnamespace(quote_ident(current_schema()))::oid::int, 0))"
        )
    };
}
const BESIDE: &str = try_lock!("pg_try_advisory_lock_shared");
const ALONE: &str = try_lock!("pg_try_advisory_lock");

/// The shared lock: keeps imports away. It is taken again if the connection is lost.
pub struct StoreUse {
    keeper: JoinHandle<()>,
}

impl StoreUse {
    /// Takes the shared lock.
    ///
    /// # Errors
    /// [`OpenError::BeingImported`], and problems with the URL or the connection.
    pub async fn begin(config: &PostgresConfig) -> Result<Self, OpenError> {
        let connect = Arc::new(connector(config)?);
        let database = connect.database();
        match begun(&connect, BESIDE).await {
            Ok(Some(held)) => Ok(Self { keeper: tokio::spawn(keep(connect, held)) }),
            Ok(None) => Err(OpenError::BeingImported { database }),
            Err(cause) => Err(OpenError::Connect { database, cause }),
        }
    }

    /// Releases the lock.
    pub(crate) fn end(&self) {
        self.keeper.abort();
    }
}

impl Drop for StoreUse {
    fn drop(&mut self) {
        self.end();
    }
}

/// The exclusive lock of an import.
pub struct ImportLock {
    held: Held,
}

impl ImportLock {
    /// Takes the exclusive lock.
    ///
    /// # Errors
    /// [`OpenError::InUse`], and problems with the URL or the connection.
    pub async fn begin(config: &PostgresConfig) -> Result<Self, OpenError> {
        let connect = connector(config)?;
        let database = connect.database();
        match begun(&connect, ALONE).await {
            Ok(Some(held)) => Ok(Self { held }),
            Ok(None) => Err(OpenError::InUse { database }),
            Err(cause) => Err(OpenError::Connect { database, cause }),
        }
    }

    /// Resolves when the connection, and with it the lock, is lost.
    pub async fn lost(&mut self) {
        self.held.lost().await;
    }

    /// Releases the lock without waiting for the connection to close.
    pub async fn end(self) {
        // If this fails, the end of the connection releases it.
        let _ = timeout(PATIENCE, self.held.client.batch_execute("SELECT pg_advisory_unlock_all()")).await;
    }
}

/// A connection that holds the lock.
struct Held {
    /// Dropping the client closes the connection.
    client: Client,
    ended: JoinHandle<()>,
}

impl Held {
    async fn lost(&mut self) {
        // If the task panicked, the connection is closed as well.
        let _ = (&mut self.ended).await;
    }
}

/// Takes the lock within the time limit.
async fn begun(connect: &Connect, lock: &str) -> ConnectionResult<Option<Held>> {
    let silent = || diesel::ConnectionError::BadConnection("it does not answer".to_owned());
    timeout(SLOW, hold(connect, lock, PATIENCE)).await.unwrap_or_else(|_| Err(silent()))
}

/// Takes the lock; `None` if another process holds it for as long as `patience`.
async fn hold(connect: &Connect, lock: &str, patience: Duration) -> ConnectionResult<Option<Held>> {
    let (client, ended) = connect.watched().await?;
    let fault = |error| connection_error(&error);
    client.batch_execute(SETTINGS).await.map_err(fault)?;
    let begun = Instant::now();
    loop {
        let row = client.query_one(lock, &[]).await.map_err(fault)?;
        if row.try_get(0).map_err(fault)? {
            return Ok(Some(Held { client, ended }));
        }
        if begun.elapsed() >= patience {
            return Ok(None);
        }
        sleep(PAUSE).await;
    }
}

/// Takes the lock again whenever the connection is lost. Its absence blocks nothing.
async fn keep(connect: Arc<Connect>, mut held: Held) {
    loop {
        held.lost().await;
        let mut has_told = false;
        held = loop {
            sleep(AWAY).await;
            match timeout(SLOW, hold(&connect, BESIDE, Duration::ZERO)).await {
                Ok(Ok(Some(held))) => break held,
                Ok(Ok(None)) if !has_told => {
                    has_told = true;
                    tracing::error!(
                        "an import began while this server was disconnected from the database; stop one of the two"
                    );
                }
                _ => {}
            }
        };
    }
}
