//! The ways to work on the database: a query without a snapshot, a read on one snapshot, and a change in
//! one transaction, announced or not.
//!
//! The work runs in tasks of the store's own runtime, so that a caller that stops waiting leaves no
//! connection in the middle of a statement, and a committed change is always announced. If another
//! change interferes, or a connection has died, the work is retried a few times; a change that may
//! have been committed is not retried.
//!
//! The isolation level is read committed. A change therefore first locks the rows that its decision
//! depends on, in the order organization, user, agent, chat, reminder, participant, task, board, file, contact, how far a
//! chat is indexed, and by id among rows of a kind; from then on no other change can touch them.

use std::any::Any;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use domain::store::StoreError;
use futures_util::future::{BoxFuture, join};
use futures_util::{FutureExt, TryFutureExt};
use measure::Work;

use crate::PostgresStore;
use crate::commit_order::{CommitOrder, CommitSlot};
use crate::error::{Fault, Remedy, closed, panicked};
use crate::pool::Pool;

/// A connection; shared, so that statements can be pipelined.
pub(crate) type Db = AsyncPgConnection;

/// A future that works on a connection.
pub(crate) type DbFuture<'c, T> = BoxFuture<'c, Result<T, Fault>>;

/// The beginning of a transaction that writes, followed by further statements.
///
/// Every such transaction requests a durable commit itself, in the same round trip: a setting of
/// the session does not reach it if a pooler gives every transaction another database connection.
/// Only `off` can lose acknowledged data in a crash of the database; any other value, stronger or
/// weaker than `on`, is up to the operator.
macro_rules! begin {
    ($more:literal) => {
        concat!("BEGIN; ", $crate::run::durable!("true"), $more)
    };
}

/// Raises `synchronous_commit` from `off` to `on`, for the transaction (`true`) or the session (`false`).
macro_rules! durable {
    ($is_local:literal) => {
        concat!(
            "SELECT set_config('synchronous_commit', 'on', ",
            $is_local,
            ") WHERE current_setting('synchronous_commit') = 'off'"
        )
    };
}
pub(crate) use {begin, durable};

/// The maximum number of attempts.
const TRIES: u32 = 6;

/// The pause before the second attempt; it doubles with each further one.
const PAUSE: Duration = Duration::from_millis(3);

/// The visibility of a read.
#[derive(Clone, Copy)]
pub(crate) enum Visibility {
    /// All commits before each of its statements begins.
    Now,
    /// All commits before its first statement begins.
    Snapshot,
}

impl PostgresStore {
    /// Runs a query with one statement, or with several that each see the commits before it.
    pub(crate) async fn query<G, T, W>(&self, given: G, work: W) -> Result<T, StoreError>
    where
        G: Send + Sync + 'static,
        T: Send + 'static,
        W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, T> + Send + Sync + 'static,
    {
        self.read_in_task(given, work, Visibility::Now).await
    }

    /// Reads with several statements on one snapshot.
    pub(crate) async fn read<G, T, W>(&self, given: G, work: W) -> Result<T, StoreError>
    where
        G: Send + Sync + 'static,
        T: Send + 'static,
        W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, T> + Send + Sync + 'static,
    {
        self.read_in_task(given, work, Visibility::Snapshot).await
    }

    async fn read_in_task<G, T, W>(&self, given: G, work: W, visibility: Visibility) -> Result<T, StoreError>
    where
        G: Send + Sync + 'static,
        T: Send + 'static,
        W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, T> + Send + Sync + 'static,
    {
        let _doing = measure::doing(Work::Read);
        let pool = self.pool.clone();
        let reading = async move { read_in_tries(&pool, &given, work, visibility).await };
        self.in_task(reading).await?.map_err(StoreError::from)
    }

    /// Runs a change in one transaction, and announces it after the commit. If `work` returns `Ok`,
    /// it is committed; with `Err` it is rolled back, and only answered.
    pub(crate) async fn change<G, T, R, W>(
        &self,
        given: G,
        work: W,
        announce: impl FnOnce(&T) + Send + 'static,
    ) -> Result<Result<T, R>, StoreError>
    where
        G: Send + Sync + 'static,
        T: Send + 'static,
        R: Send + 'static,
        W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, Result<T, R>> + Send + Sync + 'static,
    {
        let doing = measure::doing(Work::Change);
        let carried = doing.carry();
        let announce = |outcome: &T| carried.within(|| announce(outcome));
        let (pool, commit_order) = (self.pool.clone(), self.commit_order.clone());
        let changing = async move {
            match try_change(&pool, &commit_order, &given, &work).await {
                Err(fault) => {
                    if matches!(fault, Fault::InDoubt) {
                        commit_order.record_in_doubt();
                    }
                    Err(fault)
                }
                Ok(Err(refused)) => Ok(Err(refused)),
                Ok(Ok((slot, outcome))) => Ok(Ok(slot.publish(outcome, announce).await)),
            }
        };
        self.in_task(changing).await?.map_err(|fault: Fault| fault.into())
    }

    /// Runs a change that is not announced, since other processes read it from the log. Its commit
    /// slot is dropped, and an unknown outcome needs no resynchronization: the writer repeats it.
    pub(crate) async fn change_quietly<G, T, R, W>(
        &self,
        given: G,
        work: W,
    ) -> Result<Result<T, R>, StoreError>
    where
        G: Send + Sync + 'static,
        T: Send + 'static,
        R: Send + 'static,
        W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, Result<T, R>> + Send + Sync + 'static,
    {
        self.change_unannounced(given, work).await?.map_err(|fault: Fault| fault.into())
    }

    /// [`Self::change`] that cannot be refused.
    pub(crate) async fn alter_announced<G, T, W>(
        &self,
        given: G,
        work: W,
        announce: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, StoreError>
    where
        G: Send + Sync + 'static,
        T: Send + 'static,
        W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, T> + Send + Sync + 'static,
    {
        let Ok(done) = self.change(given, never_refused(work), announce).await?;
        Ok(done)
    }

    /// [`Self::alter_announced`] with nothing to announce.
    pub(crate) async fn alter<G, T, W>(&self, given: G, work: W) -> Result<T, StoreError>
    where
        G: Send + Sync + 'static,
        T: Send + 'static,
        W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, T> + Send + Sync + 'static,
    {
        self.alter_announced(given, work, |_| ()).await
    }

    /// [`Self::change_quietly`] that cannot be refused.
    pub(crate) async fn alter_quietly<G, T, W>(&self, given: G, work: W) -> Result<T, StoreError>
    where
        G: Send + Sync + 'static,
        T: Send + 'static,
        W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, T> + Send + Sync + 'static,
    {
        let Ok(done) = self.change_quietly(given, never_refused(work)).await?;
        Ok(done)
    }

    /// Like [`Self::alter_quietly`], for what must not be written twice, and may rather be lost: a commit in doubt
    /// counts as done.
    pub(crate) async fn alter_at_most_once<G, W>(&self, given: G, work: W) -> Result<(), StoreError>
    where
        G: Send + Sync + 'static,
        W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, ()> + Send + Sync + 'static,
    {
        match self.change_unannounced(given, never_refused(work)).await? {
            Ok(Ok(())) | Err(Fault::InDoubt) => Ok(()),
            Err(fault) => Err(fault.into()),
        }
    }

    async fn change_unannounced<G, T, R, W>(
        &self,
        given: G,
        work: W,
    ) -> Result<Result<Result<T, R>, Fault>, StoreError>
    where
        G: Send + Sync + 'static,
        T: Send + 'static,
        R: Send + 'static,
        W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, Result<T, R>> + Send + Sync + 'static,
    {
        let _doing = measure::doing(Work::Change);
        let (pool, commit_order) = (self.pool.clone(), self.commit_order.clone());
        let changing = async move {
            let done = try_change(&pool, &commit_order, &given, &work).await;
            // The slot is dropped: there is nothing to announce.
            done.map(|done| done.map(|(_, outcome)| outcome))
        };
        self.in_task(changing).await
    }

    /// Runs the work to its end in the store's runtime, even if the caller stops waiting.
    pub(crate) async fn in_task<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let running = self.running.subscribe();
        let done = self.spawned(Box::pin(async move {
            let done: Done = Box::new(work.await);
            drop(running);
            done
        }));
        let done = done.await?.downcast::<T>();
        done.map(|done| *done).map_err(|_| StoreError::Broken("work of another type".into()))
    }

    /// One kind of task for all work: the program would otherwise hold a copy of the runtime's code for each operation.
    async fn spawned(&self, work: BoxFuture<'static, Done>) -> Result<Done, StoreError> {
        self.runtime.spawn(work).await.map_err(|error| if error.is_panic() { panicked() } else { closed() })
    }
}

/// What work has returned, in a task that does not know its type.
type Done = Box<dyn Any + Send>;

fn never_refused<G, T, W>(
    work: W,
) -> impl for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, Result<T, Infallible>> + Send + Sync + 'static
where
    T: Send + 'static,
    W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, T> + Send + Sync + 'static,
{
    move |db, given| work(db, given).map_ok(Ok).boxed()
}

/// Runs one or several SQL statements without values.
pub(crate) async fn execute(mut db: &Db, text: &'static str) -> Result<(), Fault> {
    Ok(db.batch_execute(text).await?)
}

/// Reads, with retries if they can help.
pub(crate) async fn read_in_tries<G, T, W>(
    pool: &Pool,
    given: &G,
    work: W,
    visibility: Visibility,
) -> Result<T, Fault>
where
    W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, T>,
{
    let mut tries = Tries::default();
    loop {
        match read_once(pool, given, &work, visibility).await {
            Err(fault) if tries.again_after(&fault).await => {}
            done => return done,
        }
    }
}

async fn read_once<G, T, W>(pool: &Pool, given: &G, work: &W, visibility: Visibility) -> Result<T, Fault>
where
    W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, T>,
{
    let connection = pool.acquire().await?;
    let db = connection.db();
    let answer = match visibility {
        Visibility::Now => pool.timed(work(db, given)).await?,
        Visibility::Snapshot => pool.timed(on_snapshot(db, work(db, given))).await?,
    };
    connection.release();
    Ok(answer)
}

/// Nothing is written, so the first statement need not wait for the answer to the beginning.
async fn on_snapshot<T>(db: &Db, work: DbFuture<'_, T>) -> Result<T, Fault> {
    let begun = execute(db, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    let (begun, answer) = join(begun, work).await;
    begun?;
    let answer = answer?;
    execute(db, "COMMIT").await?;
    Ok(answer)
}

/// Runs a change, with retries if they can help. The result has the slot for its announcement.
async fn try_change<G, T, R, W>(
    pool: &Pool,
    commit_order: &Arc<CommitOrder>,
    given: &G,
    work: &W,
) -> Result<Result<(CommitSlot, T), R>, Fault>
where
    W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, Result<T, R>>,
{
    let mut tries = Tries::default();
    loop {
        match change_once(pool, commit_order, given, work).await {
            Err(fault) if tries.again_after(&fault).await => {}
            done => return done,
        }
    }
}

async fn change_once<G, T, R, W>(
    pool: &Pool,
    commit_order: &Arc<CommitOrder>,
    given: &G,
    work: &W,
) -> Result<Result<(CommitSlot, T), R>, Fault>
where
    W: for<'c> Fn(&'c Db, &'c G) -> DbFuture<'c, Result<T, R>>,
{
    let _permit = pool.change().await?;
    let connection = pool.acquire().await?;
    let working = async {
        execute(connection.db(), begin!("")).await?;
        work(connection.db(), given).await
    };
    let rest = match pool.timed(working).await {
        Ok(Ok(done)) => {
            let slot = commit_order.slot();
            match pool.timed(execute(connection.db(), "COMMIT")).await {
                Ok(()) => connection.release(),
                // The outcome is unknown, and cannot be queried: the server may have crashed, after
                // which transaction numbers are assigned again.
                Err(fault) if fault.leaves_commit_in_doubt() => {
                    fault.record_full_disk();
                    return Err(Fault::InDoubt);
                }
                Err(fault) => return Err(fault),
            }
            return Ok(Ok((slot, done)));
        }
        Ok(Err(refused)) => Ok(Err(refused)),
        Err(fault) => Err(fault),
    };
    // A transaction that cannot be rolled back ends with its connection.
    if !matches!(rest, Err(Fault::Slow)) && pool.timed(execute(connection.db(), "ROLLBACK")).await.is_ok() {
        connection.release();
    }
    rest
}

/// Counts attempts.
#[derive(Default)]
pub(crate) struct Tries(u32);

impl Tries {
    /// Returns whether to retry after this fault, after a short pause.
    pub(crate) async fn again_after(&mut self, fault: &Fault) -> bool {
        self.0 += 1;
        if self.0 >= TRIES || fault.remedy() != Remedy::Again {
            return false;
        }
        tokio::time::sleep(PAUSE * 2_u32.pow(self.0 - 1)).await;
        true
    }
}
