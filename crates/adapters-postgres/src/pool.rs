//! The connection pool of a store.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadpool::managed::{Object, QueueMode, Timeouts};
use diesel_async::AsyncPgConnection;
use diesel_async::pooled_connection::{AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod};
use futures_util::FutureExt;
use measure::InUse;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::connect::Connect;
use crate::error::Fault;

type Manager = AsyncDieselConnectionManager<AsyncPgConnection>;

/// The connections, made on demand.
#[derive(Clone)]
pub(crate) struct Pool {
    connections: deadpool::managed::Pool<Manager>,
    /// One permit for each change that may run at the same time.
    changes: Arc<Semaphore>,
    /// One permit for each lane of changes that may wait for locked rows at the same time.
    lanes: Arc<Semaphore>,
    /// The number of connections made so far.
    made: Arc<AtomicU64>,
    patience: Duration,
    /// The time limit for work on a connection.
    limit: Duration,
}

impl Pool {
    /// At most `size` connections; a caller that waits for one longer than `wait` gets an error.
    pub(crate) fn new(connect: Arc<Connect>, size: usize, wait: Duration) -> Self {
        let limit = connect.statement_timeout() + wait;
        let mut config = ManagerConfig::default();
        // A connection that has died is not handed out; one that dies later is handled by a retry.
        config.recycling_method = RecyclingMethod::Fast;
        let made = Arc::<AtomicU64>::default();
        let count = made.clone();
        config.custom_setup = Box::new(move |_| {
            let (connect, count) = (connect.clone(), count.clone());
            async move {
                let connection = connect.connection().await;
                count.fetch_add(1, Ordering::Release);
                connection
            }
            .boxed()
        });
        let timeouts = Timeouts { wait: Some(wait), create: Some(wait), recycle: Some(wait) };
        let pool = deadpool::managed::Pool::builder(Manager::new_with_config("", config))
            .max_size(size)
            .timeouts(timeouts)
            // What was used last is still in the processor's caches, on both sides.
            .queue_mode(QueueMode::Lifo)
            .runtime(deadpool::Runtime::Tokio1)
            .build();
        measure::connections_at_most(size);
        let connections = pool.expect("the only fault of a pool is a time-out without a runtime");
        // Changes may wait for each other while they hold connections; reads continue meanwhile.
        let changes = Arc::new(Semaphore::new((size / 2).max(1)));
        let lanes = Arc::new(Semaphore::new((size / 4).max(1)));
        Self { connections, changes, lanes, made, patience: wait, limit }
    }

    /// Waits until one more change may run.
    pub(crate) async fn change(&self) -> Result<SemaphorePermit<'_>, Fault> {
        let permit = tokio::time::timeout(self.patience, self.changes.acquire()).await;
        let permit = permit.map_err(|_| Fault::NoConnection("too many changes are in progress".into()))?;
        Ok(permit.expect("it is never closed"))
    }

    /// Waits until one more lane of changes may use a connection. The lanes have a quarter of the
    /// connections in all, so that locked rows leave another quarter to reads.
    pub(crate) async fn lane(&self) -> SemaphorePermit<'_> {
        self.lanes.acquire().await.expect("it is never closed")
    }

    /// The number of connections made so far: while it is constant, all are to the same database as
    /// before.
    pub(crate) fn connections_made(&self) -> u64 {
        self.made.load(Ordering::Acquire)
    }

    /// How long a request waits for a connection before it fails.
    pub(crate) const fn patience(&self) -> Duration {
        self.patience
    }

    /// Runs the work with a time limit that only a failing database exceeds. The database enforces
    /// the statement time-out itself, unless it hangs as a whole, or its host is gone.
    pub(crate) async fn timed<T>(&self, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        tokio::time::timeout(self.limit, work).await.unwrap_or(Err(Fault::Slow))
    }

    /// The time limit for a piece of work.
    pub(crate) const fn limit(&self) -> Duration {
        self.limit
    }

    /// A connection for exclusive use.
    pub(crate) async fn acquire(&self) -> Result<PooledConnection, Fault> {
        let object = self.connections.get().await.map_err(|error| Fault::NoConnection(Box::new(error)))?;
        Ok(PooledConnection { object: Some(object), _in_use: measure::connection_in_use() })
    }

    /// Closes the pool.
    pub(crate) fn close(&self) {
        self.connections.close();
    }
}

/// A connection for exclusive use. Unless it is given back it is closed, since it may be in the
/// middle of a statement.
pub(crate) struct PooledConnection {
    object: Option<Object<Manager>>,
    _in_use: InUse,
}

impl PooledConnection {
    pub(crate) fn db(&self) -> &AsyncPgConnection {
        self.object.as_deref().expect("it is held until it is given back")
    }

    pub(crate) fn release(mut self) {
        self.object.take();
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            drop(Object::take(object));
        }
    }
}
