//! Who is at work on a store: any number beside each other, or one that fills it, alone.
//!
//! It is a lock of the database, held on a connection of its own, so that it goes with its process, however that
//! ends. Every schema of a database has its own.

use std::sync::Arc;
use std::time::Duration;

use diesel::ConnectionResult;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Client;

use crate::connect::{Connect, told};
use crate::open::{OpenError, PostgresConfig, connector};

/// How long to wait for whoever has just ended, or is about to.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long to wait between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// How long to wait after the connection was lost, and between tries to have another.
const AWAY: Duration = Duration::from_secs(1);

/// How long a database that has been away may take to answer.
const SLOW: Duration = Duration::from_secs(10);

/// The database soon notices that the other host has gone, and does not mind that nothing is asked.
const SETTINGS: &str = "SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 3; \
     SET tcp_keepalives_count = 3; \
     SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'";

/// The first number is any that nobody else uses; keys of two numbers never meet those of one.
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

/// Works on a store beside others, and keeps off who wants to fill it.
///
/// Should the connection be lost it is made again, as soon as the database is there.
pub struct AtWork {
    keeper: JoinHandle<()>,
}

impl AtWork {
    /// Begins to work on the store.
    ///
    /// # Errors
    /// [`OpenError::BeingFilled`], and what is wrong with the URL or the connection.
    pub async fn begin(config: &PostgresConfig) -> Result<Self, OpenError> {
        let connect = Arc::new(connector(config)?);
        let place = connect.place();
        match begun(&connect, BESIDE).await {
            Ok(Some(held)) => Ok(Self { keeper: tokio::spawn(keep(connect, held)) }),
            Ok(None) => Err(OpenError::BeingFilled { place }),
            Err(cause) => Err(OpenError::Connect { place, cause }),
        }
    }

    /// Ends it; others may fill the store.
    pub(crate) fn end(&self) {
        self.keeper.abort();
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.end();
    }
}

/// Fills a store, and keeps off everybody else.
pub struct Filling {
    held: Held,
}

impl Filling {
    /// Begins to fill the store.
    ///
    /// # Errors
    /// [`OpenError::InUse`], and what is wrong with the URL or the connection.
    pub async fn begin(config: &PostgresConfig) -> Result<Self, OpenError> {
        let connect = connector(config)?;
        let place = connect.place();
        match begun(&connect, ALONE).await {
            Ok(Some(held)) => Ok(Self { held }),
            Ok(None) => Err(OpenError::InUse { place }),
            Err(cause) => Err(OpenError::Connect { place, cause }),
        }
    }

    /// Ready once the connection is lost: from then on nobody is kept off.
    pub async fn lost(&mut self) {
        self.held.lost().await;
    }

    /// Ends it, so that others may work on the store at once.
    pub async fn end(self) {
        // What cannot be said to the database any more, it learns from the end of the connection.
        let _ = timeout(PATIENCE, self.held.client.batch_execute("SELECT pg_advisory_unlock_all()")).await;
    }
}

/// A connection that has the lock.
struct Held {
    /// The connection is open as long as this is.
    client: Client,
    ended: JoinHandle<()>,
}

impl Held {
    async fn lost(&mut self) {
        // It cannot panic; if it did, the connection would be gone as well.
        let _ = (&mut self.ended).await;
    }
}

/// The lock of who begins; a database that says nothing is given up.
async fn begun(connect: &Connect, lock: &str) -> ConnectionResult<Option<Held>> {
    let silent = || diesel::ConnectionError::BadConnection("it does not answer".to_owned());
    timeout(SLOW, hold(connect, lock, PATIENCE)).await.unwrap_or_else(|_| Err(silent()))
}

/// A connection with the lock, unless others have it for as long as `patience`.
async fn hold(connect: &Connect, lock: &str, patience: Duration) -> ConnectionResult<Option<Held>> {
    let (client, ended) = connect.watched().await?;
    let fault = |error| told(&error);
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

/// Takes the lock again whenever the connection is lost. That it is away hinders nobody.
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
