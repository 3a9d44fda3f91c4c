//! Group commit: one task takes the changes that have queued while it wrote the previous batch, and
//! writes them in one transaction.
//!
//! The first change never waits for others. The result is the same as if they were written one
//! after the other. A row that another transaction has locked does not stop the batch: the changes
//! that need it go to a [lane](lanes) of their own, as do changes that cannot share a transaction.
//! If the answer to the commit is lost or unclear, the store is asked whether the batch was committed.
//!
//! What is written is up to a [`BatchWork`]: messages ([`crate::message::append`]) and delivery
//! steps ([`crate::delivery::steps`]).

mod batch;
mod lanes;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::store::{OnCommit, StoreError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::commit_order::{CommitOrder, CommitSlot};
use crate::error::{Fault, Remedy, closed, crowded};
use crate::pool::{Pool, PooledConnection};
use crate::run::{Db, Tries, begin, execute};
use batch::{Batch, Job, Reply};
use lanes::Lanes;

/// The maximum number of queued changes; further ones are refused as overload.
const QUEUE: usize = 8192;

/// The pause between queries for the outcome of a commit.
const OUTCOME_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The outcome of one change.
pub(crate) type Outcome<W> = Result<<W as BatchWork>::Stored, <W as BatchWork>::Refused>;

/// How long a batch waits for rows that another transaction has locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockWait {
    /// As long as other batches take.
    Brief,
    /// Until the statement time-out.
    Long,
}

impl LockWait {
    /// The statement that begins the transaction.
    pub(crate) const fn begin(self) -> &'static str {
        match self {
            Self::Brief => begin!("; SET LOCAL lock_timeout = 100"),
            Self::Long => begin!(""),
        }
    }
}

/// What became of a batch, as far as cached rows are concerned.
pub(crate) enum BatchOutcome {
    /// It was committed. `connections` is how many connections the pool had made when the batch began; rows
    /// cached under another count are dropped.
    Committed { connections: u64 },
    /// The cached rows had changed.
    Conflict,
    /// It may have been committed.
    InDoubt,
}

/// Changes of one kind that share transactions.
pub(crate) trait BatchWork: Send + Sync + Sized + 'static {
    /// A change to be written.
    type Change: Send + Sync + 'static;
    /// What is stored and announced.
    type Stored: Send + Sync + 'static;
    /// Why a change is refused.
    type Refused: Send + Sync + 'static;
    /// A batch that is decided.
    type Decided: Decided<Self::Stored, Self::Refused>;

    /// What the changes are called in the log.
    const NAME: &'static str;
    /// Their kind in the metrics.
    const KIND: measure::Work;

    /// The size of a change, if that limits a batch.
    fn bytes(_: &Self::Change) -> usize {
        0
    }

    /// The row that a change may wait for; changes of one lane are written in order.
    fn lane(change: &Self::Change) -> Uuid;

    /// Decides the batch on cached rows; `None` if that is impossible.
    fn decide_cached(&self, _: &[Self::Change], _connections: u64) -> Option<Self::Decided> {
        None
    }

    /// Writes and commits, with one statement, what [`Self::decide_cached`] has decided. Returns
    /// `false` if the cached rows have changed: nothing is written then.
    fn write_cached_on(
        &self,
        _: &Db,
        _: &mut Self::Decided,
    ) -> impl Future<Output = Result<bool, Fault>> + Send {
        async { Ok(false) }
    }

    /// Begins a transaction, locks, and decides; [`Self::write_on`] follows. With [`LockWait::Long`], it may
    /// already write.
    ///
    /// `in_doubt` is set only with [`LockWait::Long`]: the decision of an earlier try whose commit was not
    /// answered. That transaction held the same locks, so it has ended once we get them. Returns `None` if it
    /// was committed, and completes the decision by what only its answer would have told.
    fn decide_on(
        &self,
        db: &Db,
        changes: &[Self::Change],
        lock_wait: LockWait,
        in_doubt: Option<&mut Self::Decided>,
    ) -> impl Future<Output = Result<Option<Self::Decided>, Fault>> + Send;

    /// Writes the decided batch; the commit follows.
    fn write_on(
        &self,
        db: &Db,
        changes: &[Self::Change],
        decided: &mut Self::Decided,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Updates the cache by what became of a batch.
    fn learn(&self, _: &Self::Decided, _: BatchOutcome) {}

    /// The lanes whose rows another transaction has locked; none if that is not known.
    fn locked_on(
        &self,
        _: &Db,
        _: &[Self::Change],
    ) -> impl Future<Output = Result<HashSet<Uuid>, Fault>> + Send {
        async { Ok(HashSet::new()) }
    }
}

/// A batch that is decided.
pub(crate) trait Decided<Stored, Refused>: Send + Sync + 'static {
    /// The outcomes of the changes, in order, without the [deferred](Self::deferred) ones.
    fn outcomes(&self) -> &[Result<Stored, Refused>];

    fn into_outcomes(self) -> Vec<Result<Stored, Refused>>;

    /// The indexes of changes, ascending, that are left to a transaction with a long wait for locks. There
    /// are none in such a transaction.
    fn deferred(&self) -> &[usize] {
        &[]
    }
}

/// The queue in front of the writing task, which ends with it.
pub(crate) struct GroupCommit<W: BatchWork>(Mutex<Option<Sender<Job<W>>>>);

impl<W: BatchWork> GroupCommit<W> {
    /// Starts the task in the runtime that this is called in. It and its lanes hold `running` until
    /// they end.
    pub(crate) fn start(
        work: W,
        pool: Pool,
        commit_order: Arc<CommitOrder>,
        running: watch::Receiver<()>,
    ) -> Self {
        let (sender, jobs) = channel(QUEUE);
        let lanes = Lanes::new();
        tokio::spawn(Arc::new(Writer { work, pool, commit_order, lanes, _running: running }).run(jobs));
        Self(Mutex::new(Some(sender)))
    }

    /// Refuses further changes. The tasks end once those that are queued are written and answered.
    pub(crate) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Writes a change, in one transaction with others that are queued.
    pub(crate) async fn write(
        &self,
        change: W::Change,
        on_commit: OnCommit<W::Stored>,
    ) -> Result<Outcome<W>, StoreError> {
        let doing = measure::doing(W::KIND);
        let carried = doing.carry();
        let on_commit = OnCommit::new(move |stored| carried.within(|| on_commit.run(stored)));
        let (answer, wait) = oneshot::channel();
        let reply = Reply { since: Instant::now(), on_commit, answer };
        let queued = match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(jobs) => jobs.try_send(Job { change, reply }),
            None => return Err(closed()),
        };
        queued.map_err(|refused| match refused {
            TrySendError::Full(_) => crowded(),
            TrySendError::Closed(_) => closed(),
        })?;
        wait.await.unwrap_or_else(|_| Err(closed()))
    }
}

struct Writer<W: BatchWork> {
    work: W,
    pool: Pool,
    commit_order: Arc<CommitOrder>,
    lanes: Lanes<W>,
    _running: watch::Receiver<()>,
}

/// A batch whose commit was not clearly answered. It is stored completely or not at all.
struct InDoubt<W: BatchWork> {
    decided: W::Decided,
    slot: CommitSlot,
}

impl<W: BatchWork> Writer<W> {
    async fn run(self: Arc<Self>, mut jobs: Receiver<Job<W>>) {
        while let Some(first) = jobs.recv().await {
            let mut batch = Batch::default();
            self.add(first, &mut batch);
            while batch.has_room()
                && let Ok(job) = jobs.try_recv()
            {
                self.add(job, &mut batch);
            }
            self.write(batch, LockWait::Brief).await;
        }
    }

    /// Adds a change to the batch, or to its lane if that is written separately.
    fn add(&self, job: Job<W>, batch: &mut Batch<W>) {
        if let Some(job) = self.lanes.queue(job) {
            self.add_unless_expired(job, batch);
        }
    }

    /// Adds a change to the batch, unless its caller has given up waiting.
    fn add_unless_expired(&self, job: Job<W>, batch: &mut Batch<W>) {
        if job.reply.since.elapsed() < self.pool.limit() {
            batch.push(job);
        } else {
            job.reply.answer(Err(Fault::Slow.to_store_error()));
        }
    }

    /// Writes and answers all changes of the batch.
    async fn write(self: &Arc<Self>, mut batch: Batch<W>, lock_wait: LockWait) {
        match self.commit(&mut batch, lock_wait).await {
            Ok(()) => {}
            // One change caused the failure; the others must not fail with it.
            Err(fault) if fault.remedy() == Remedy::None && batch.changes.len() > 1 => {
                for job in batch.jobs() {
                    // The first change of a lane may have been deferred meanwhile, and the next must not
                    // overtake it.
                    let job = if lock_wait == LockWait::Brief { self.lanes.queue(job) } else { Some(job) };
                    let Some(job) = job else { continue };
                    let mut alone = Batch::of(job);
                    if let Err(fault) = self.commit(&mut alone, lock_wait).await {
                        alone.fail(&fault);
                    }
                }
            }
            Err(fault) => batch.fail(&fault),
        }
    }

    /// Moves changes to their lanes, and writes those that are not written yet.
    fn defer(self: &Arc<Self>, jobs: Vec<Job<W>>) {
        let mut lanes = HashMap::<Uuid, Vec<Job<W>>>::new();
        for job in jobs {
            lanes.entry(W::lane(&job.change)).or_default().push(job);
        }
        for (lane, jobs) in lanes {
            tracing::debug!(%lane, changes = jobs.len(), "deferring {}", W::NAME);
            if self.lanes.defer(lane, jobs) {
                tokio::spawn(self.clone().drain(lane));
            }
        }
    }

    /// Writes the changes of one lane until there are none.
    fn drain(self: Arc<Self>, lane: Uuid) -> BoxFuture<'static, ()> {
        let drain = async move {
            let permit = timeout(self.pool.limit(), self.pool.lane()).await;
            while let Some(jobs) = self.lanes.next(lane) {
                match &permit {
                    Ok(_) => self.write_all(jobs).await,
                    Err(_) => {
                        for job in jobs {
                            job.reply.answer(Err(Fault::Slow.to_store_error()));
                        }
                    }
                }
            }
        };
        drain.boxed()
    }

    async fn write_all(self: &Arc<Self>, jobs: Vec<Job<W>>) {
        let mut jobs = jobs.into_iter().peekable();
        while jobs.peek().is_some() {
            let mut batch = Batch::default();
            while batch.has_room()
                && let Some(job) = jobs.next()
            {
                self.add_unless_expired(job, &mut batch);
            }
            self.write(batch, LockWait::Long).await;
        }
    }

    /// Defers the changes of locked rows; all changes if it is not known which these are.
    async fn defer_locked(self: &Arc<Self>, batch: &mut Batch<W>) -> Result<(), Fault> {
        let connection = self.pool.acquire().await?;
        let locked = self.pool.timed(self.work.locked_on(connection.db(), &batch.changes)).await?;
        connection.release();
        let (deferred, rest) = std::mem::take(batch)
            .jobs()
            .partition(|job| locked.is_empty() || locked.contains(&W::lane(&job.change)));
        self.defer(deferred);
        Vec::into_iter(rest).for_each(|job| batch.push(job));
        Ok(())
    }

    /// Commits, announces and answers all changes, or none.
    async fn commit(self: &Arc<Self>, batch: &mut Batch<W>, lock_wait: LockWait) -> Result<(), Fault> {
        let is_committing = AtomicBool::new(false);
        // A panic must not end the writing task.
        let writing = AssertUnwindSafe(self.commit_in_tries(batch, lock_wait, &is_committing));
        writing.catch_unwind().await.unwrap_or_else(|_| {
            if is_committing.load(Ordering::Relaxed) {
                self.commit_order.record_in_doubt();
                return Err(Fault::InDoubt);
            }
            Err(Fault::Row(format!("the writing of {} panicked", W::NAME)))
        })
    }

    async fn commit_in_tries(
        self: &Arc<Self>,
        batch: &mut Batch<W>,
        mut lock_wait: LockWait,
        is_committing: &AtomicBool,
    ) -> Result<(), Fault> {
        let (mut tries, mut in_doubt, mut asking_since) = (Tries::default(), None, None);
        let mut may_commit_late = false;
        while !batch.changes.is_empty() {
            is_committing.store(in_doubt.is_some(), Ordering::Relaxed);
            match self.commit_once(batch, &mut in_doubt, lock_wait, is_committing).await {
                Err(fault) if in_doubt.is_some() => {
                    if asking_since.get_or_insert_with(Instant::now).elapsed() >= self.pool.patience() {
                        self.commit_order.record_in_doubt();
                        return Err(Fault::InDoubt);
                    }
                    // The outcome is known once the rows are unlocked, or written by another transaction.
                    (lock_wait, may_commit_late) = (LockWait::Long, may_commit_late || !fault.is_full_disk());
                    tokio::time::sleep(OUTCOME_POLL_INTERVAL).await;
                }
                Err(fault) if lock_wait == LockWait::Brief && fault.may_be_lock_timeout() => {
                    self.defer_locked(batch).await?;
                }
                Err(fault) if tries.again_after(&fault).await => {}
                // A statement without an answer may still commit; one that found the disk full cannot.
                Err(_) if may_commit_late => {
                    self.commit_order.record_in_doubt();
                    return Err(Fault::InDoubt);
                }
                done => return done,
            }
        }
        Ok(())
    }

    async fn commit_once(
        self: &Arc<Self>,
        batch: &mut Batch<W>,
        in_doubt: &mut Option<InDoubt<W>>,
        lock_wait: LockWait,
        is_committing: &AtomicBool,
    ) -> Result<(), Fault> {
        let mut connection = self.pool.acquire().await?;
        let connections = self.pool.connections_made();
        if in_doubt.is_none() && lock_wait == LockWait::Brief {
            match self.commit_cached(connection, batch, in_doubt, connections, is_committing).await? {
                Some(unused) => connection = unused,
                None => return Ok(()),
            }
        }
        let before = in_doubt.as_mut().map(|one| &mut one.decided);
        let deciding = self.work.decide_on(connection.db(), &batch.changes, lock_wait, before);
        let mut decided = match self.pool.timed(deciding).await {
            Ok(Some(decided)) => decided,
            Ok(None) => {
                self.roll_back(connection).await;
                if let Some(InDoubt { decided, slot }) = in_doubt.take() {
                    batch.publish(slot, decided).await;
                }
                return Ok(());
            }
            Err(fault) => return Err(self.failed(connection, fault).await),
        };
        *in_doubt = None;
        self.defer(batch.remove(decided.deferred()));
        if decided.outcomes().iter().all(Result::is_err) {
            self.roll_back(connection).await;
            batch.answer(decided);
            return Ok(());
        }
        let writing = self.work.write_on(connection.db(), &batch.changes, &mut decided);
        if let Err(fault) = self.pool.timed(writing).await {
            return Err(self.failed(connection, fault).await);
        }
        // Later writers to these rows get later slots.
        let slot = self.commit_order.slot();
        is_committing.store(true, Ordering::Relaxed);
        match self.pool.timed(execute(connection.db(), "COMMIT")).await {
            Ok(()) => connection.release(),
            Err(fault) => {
                if fault.leaves_commit_in_doubt() {
                    *in_doubt = Some(InDoubt { decided, slot });
                }
                return Err(fault);
            }
        }
        if lock_wait == LockWait::Brief {
            self.work.learn(&decided, BatchOutcome::Committed { connections });
        }
        batch.publish(slot, decided).await;
        Ok(())
    }

    /// Writes the batch by one statement if the cached rows are current; else returns the
    /// connection.
    ///
    /// A statement that timed out may still run after its retry. That is harmless, because it checks
    /// the row versions and the plan: a retry that stored the batch has changed the versions, and one
    /// that refused all of it found the versions or the plan changed.
    async fn commit_cached(
        &self,
        connection: PooledConnection,
        batch: &mut Batch<W>,
        in_doubt: &mut Option<InDoubt<W>>,
        connections: u64,
        is_committing: &AtomicBool,
    ) -> Result<Option<PooledConnection>, Fault> {
        let Some(mut decided) = self.work.decide_cached(&batch.changes, connections) else {
            return Ok(Some(connection));
        };
        // Transactions with earlier slots on these rows have ended, or there is a conflict.
        let slot = self.commit_order.slot();
        is_committing.store(true, Ordering::Relaxed);
        match self.pool.timed(self.work.write_cached_on(connection.db(), &mut decided)).await {
            Ok(true) => {
                connection.release();
                self.work.learn(&decided, BatchOutcome::Committed { connections });
                batch.publish(slot, decided).await;
                Ok(None)
            }
            Ok(false) => {
                is_committing.store(false, Ordering::Relaxed);
                self.work.learn(&decided, BatchOutcome::Conflict);
                Ok(Some(connection))
            }
            Err(fault) => {
                self.work.learn(&decided, BatchOutcome::InDoubt);
                if fault.leaves_commit_in_doubt() {
                    *in_doubt = Some(InDoubt { decided, slot });
                }
                Err(fault)
            }
        }
    }

    /// Keeps the connection after a lock time-out; after another fault it is closed.
    async fn failed(&self, connection: PooledConnection, fault: Fault) -> Fault {
        if fault.may_be_lock_timeout() {
            self.roll_back(connection).await;
        }
        fault
    }

    /// A transaction that cannot be rolled back ends with its connection.
    async fn roll_back(&self, connection: PooledConnection) {
        if self.pool.timed(execute(connection.db(), "ROLLBACK")).await.is_ok() {
            connection.release();
        }
    }
}
