//! The production store: the domain's ports on PostgreSQL.
//!
//! Any number of server processes can share one database. A change locks the rows that its decision
//! depends on, so changes are decided as if they came one after the other ([`run`](self)).

mod account;
mod archive;
mod attention;
mod audit;
mod board;
mod budget;
mod bulk_deletion;
mod change;
mod chat;
mod commit_order;
mod connect;
mod contact;
mod control;
mod delivery;
mod durability;
mod error;
mod file;
mod group_commit;
mod idempotency_record;
mod legal_hold;
mod lock;
mod login;
mod memory;
mod message;
mod node;
mod notification;
mod open;
mod organization;
mod peer;
mod plan;
mod pool;
mod push;
#[cfg(test)]
mod query_plans;
mod reminder;
mod row;
mod run;
mod schema;
mod search;
mod secret;
mod statement;
mod status;
mod store_lock;
mod tls;
mod usage;
mod webhook;
mod work;
#[cfg(test)]
mod writes;

use std::sync::Arc;
use std::time::Duration;

use diesel_async::RunQueryDsl;
use domain::store::{SchemaSteps, StoreError};
use domain::time::Timestamp;
use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

pub use open::{OpenError, PostgresConfig};
pub use store_lock::{ImportLock, StoreUse};

use crate::commit_order::CommitOrder;
use crate::connect::Connect;
use crate::delivery::group_read::GroupRead;
use crate::delivery::steps::DeliverySteps;
use crate::error::Fault;
use crate::group_commit::GroupCommit;
use crate::message::append::Messages;
use crate::pool::Pool;

/// The time limit for the work that is under way when the store is shut down.
const LAST_WORK: Duration = Duration::from_secs(2);

/// A store on PostgreSQL; implements every repository of the domain.
pub struct PostgresStore {
    pool: Pool,
    connect: Arc<Connect>,
    steps: SchemaSteps,
    commit_order: Arc<CommitOrder>,
    appender: GroupCommit<Messages>,
    advancer: GroupCommit<DeliverySteps>,
    backlogs: GroupRead,
    store_use: Option<StoreUse>,
    /// The runtime of the connections and the work on them.
    runtime: Handle,
    /// Every task that works on the store holds a receiver until it ends.
    running: watch::Sender<()>,
}

impl PostgresStore {
    /// Opens the store and brings its schema up to date. The runtime in which this is called must
    /// live as long as the store.
    ///
    /// # Errors
    /// [`OpenError`] describes the problem with the URL or the database.
    pub async fn open(config: &PostgresConfig) -> Result<Self, OpenError> {
        Self::open_or(config, true).await
    }

    /// Opens the store, unless it does not exist yet.
    ///
    /// # Errors
    /// [`OpenError::Missing`], and those of [`Self::open`].
    pub async fn open_existing(config: &PostgresConfig) -> Result<Self, OpenError> {
        Self::open_or(config, false).await
    }

    async fn open_or(config: &PostgresConfig, may_create: bool) -> Result<Self, OpenError> {
        let connect = Arc::new(open::connector(config)?);
        let steps = open::migrate(&connect, may_create).await?;
        Ok(Self::on(config, connect, steps))
    }

    /// Opens the store to read it: its schema is not touched, so the database may be a standby.
    ///
    /// # Errors
    /// [`OpenError::Older`] if steps are missing, [`OpenError::Missing`] if all are, and those of
    /// [`Self::open`].
    pub async fn open_as_it_is(config: &PostgresConfig) -> Result<Self, OpenError> {
        let connect = Arc::new(open::connector(config)?);
        let steps = open::steps_as_they_are(&connect).await?;
        Ok(Self::on(config, connect, steps))
    }

    fn on(config: &PostgresConfig, connect: Arc<Connect>, steps: SchemaSteps) -> Self {
        let pool = Pool::new(connect.clone(), config.connections, config.acquire_timeout);
        let commit_order = Arc::<CommitOrder>::default();
        let running = watch::Sender::new(());
        let (messages, order) = (Messages::default(), commit_order.clone());
        let appender = GroupCommit::start(messages, pool.clone(), order.clone(), running.subscribe());
        let advancer = GroupCommit::start(DeliverySteps, pool.clone(), order, running.subscribe());
        let backlogs = GroupRead::start(pool.clone(), config.group_connections());
        Self {
            pool,
            connect,
            steps,
            commit_order,
            appender,
            advancer,
            backlogs,
            store_use: None,
            runtime: Handle::current(),
            running,
        }
    }

    /// Keeps the shared lock, taken before the store was opened, until it is closed.
    #[must_use]
    pub fn with(self, store_use: StoreUse) -> Self {
        Self { store_use: Some(store_use), ..self }
    }

    /// The steps of the schema, and which of them were applied when this was opened.
    pub fn steps(&self) -> &SchemaSteps {
        &self.steps
    }

    /// Reads from the database, to check that it answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.query((), |db, ()| ping_on(db).boxed()).await
    }

    /// The time of the database.
    ///
    /// # Errors
    /// [`StoreError`] if it does not answer.
    pub async fn clock(&self) -> Result<Timestamp, StoreError> {
        self.query((), |db, ()| clock_on(db).boxed()).await
    }

    /// The settings of the database that can lose acknowledged data in a crash and that this server
    /// cannot set itself.
    ///
    /// # Errors
    /// [`StoreError`] if it does not answer.
    pub async fn unsafe_settings(&self) -> Result<Vec<String>, StoreError> {
        self.query((), |db, ()| durability::unsafe_settings_on(db).boxed()).await
    }

    /// The number of commits whose outcome is unknown; changes with each. Such a change is not announced,
    /// so subscribers must read the store again.
    pub fn commits_in_doubt(&self) -> watch::Receiver<u64> {
        self.commit_order.commits_in_doubt()
    }

    /// Finishes the work that is under way and ends the tasks, unless the database takes too long;
    /// then closes the store.
    pub async fn shut_down(&self) {
        self.appender.close();
        self.advancer.close();
        if timeout(LAST_WORK, self.running.closed()).await.is_err() {
            tracing::warn!("last changes may not be stored: the database does not respond in time");
        }
        self.close();
    }

    /// Closes the pool: later calls fail as unavailable.
    pub fn close(&self) {
        self.pool.close();
        if let Some(store_use) = &self.store_use {
            store_use.end();
        }
    }
}

async fn clock_on(mut db: &run::Db) -> Result<Timestamp, Fault> {
    let clock = diesel::dsl::sql::<diesel::sql_types::Timestamptz>("clock_timestamp()");
    Ok(diesel::select(clock).get_result::<row::At>(&mut db).await?.0)
}

async fn ping_on(mut db: &run::Db) -> Result<(), Fault> {
    let any = diesel::QueryDsl::select(schema::users::table, schema::users::id);
    diesel::select(diesel::dsl::exists(any)).get_result::<bool>(&mut db).await?;
    Ok(())
}
