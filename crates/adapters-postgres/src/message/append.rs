//! Group commit of messages.
//!
//! One task takes the messages that have queued while it wrote the previous batch, of any chat, and
//! writes them in one transaction. The first message never waits for others, and the row of a chat
//! is written once per batch. The results are those of the same requests one after the other. A
//! chat that another transaction has locked does not stop the batch: its messages are
//! [deferred](super::deferred).

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::message::{AppendRefused, Appended, NewMessage};
use domain::store::{OnCommit, StoreError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use measure::Work;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::batch::{Outcome, Patience, decide_on, held_on, is_there_on, write_on};
use super::deferred::DeferredChats;
use super::optimistic::{self, VersionCache};
use crate::PostgresStore;
use crate::commit_order::{CommitOrder, CommitSlot};
use crate::error::{Fault, Remedy, closed, crowded};
use crate::pool::{Lease, Pool};
use crate::run::{Tries, execute};

/// The maximum number of messages per transaction.
const MAX_BATCH: usize = 256;

/// The size of texts at which a batch is full.
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// The maximum number of queued messages; further ones are refused as overload.
pub(super) const QUEUE: usize = 8192;

/// The pause between queries for the outcome of a commit.
const ASKING: Duration = Duration::from_millis(100);

/// A message, and the receiver of its result.
pub(super) type Job = (NewMessage, Reply);

pub(super) struct Reply {
    /// The time at which it was queued.
    since: Instant,
    on_commit: OnCommit<Appended>,
    answer: oneshot::Sender<Result<Outcome, StoreError>>,
}

/// Messages of one transaction; each has its reply at the same index.
#[derive(Default)]
struct Batch {
    news: Vec<NewMessage>,
    replies: Vec<Reply>,
    bytes: usize,
}

/// The queue in front of the writing task, which ends with it.
#[derive(Clone)]
pub(crate) struct Appender(Sender<Job>);

impl Appender {
    /// Starts the task in the runtime that this is called in.
    pub(crate) fn start(pool: Pool, commit_order: Arc<CommitOrder>) -> Self {
        let (sender, jobs) = channel(QUEUE);
        let deferred = DeferredChats::of(pool.max_size());
        tokio::spawn(Arc::new(Writer { pool, commit_order, deferred, cache: Mutex::default() }).run(jobs));
        Self(sender)
    }

    /// Stores a message, see [`domain::message::MessageRepository::append`].
    pub(crate) async fn append(
        &self,
        new: NewMessage,
        on_commit: OnCommit<Appended>,
    ) -> Result<Result<Appended, AppendRefused>, StoreError> {
        let doing = measure::doing(Work::Append);
        let carried = doing.carry();
        let on_commit = OnCommit::new(|appended| carried.within(|| on_commit.run(appended)));
        let (answer, wait) = oneshot::channel();
        let job = (new, Reply { since: Instant::now(), on_commit, answer });
        self.0.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => crowded(),
            TrySendError::Closed(_) => closed(),
        })?;
        wait.await.unwrap_or_else(|_| Err(closed()))
    }
}

struct Writer {
    pool: Pool,
    commit_order: Arc<CommitOrder>,
    deferred: DeferredChats,
    cache: Mutex<VersionCache>,
}

impl Writer {
    async fn run(self: Arc<Self>, mut jobs: Receiver<Job>) {
        while let Some(first) = jobs.recv().await {
            let mut batch = Batch::default();
            self.take(first, &mut batch);
            while batch.has_room()
                && let Ok(job) = jobs.try_recv()
            {
                self.take(job, &mut batch);
            }
            self.write(batch, Patience::Brief).await;
        }
    }

    /// Adds a message to the batch, unless its chat is written apart, or its sender has given up waiting.
    fn take(&self, job: Job, batch: &mut Batch) {
        let Some(job) = self.deferred.queue(job) else { return };
        self.take_up(job, batch);
    }

    fn take_up(&self, job: Job, batch: &mut Batch) {
        if job.1.since.elapsed() < self.pool.limit() {
            batch.push(job);
        } else {
            job.1.answer(Err(Fault::Slow.told()));
        }
    }

    /// Writes and answers all messages of the batch.
    async fn write(self: &Arc<Self>, mut batch: Batch, patience: Patience) {
        if batch.news.is_empty() {
            return;
        }
        match self.commit(&mut batch, patience).await {
            Ok(()) => {}
            // One message caused the failure; the others must not fail with it.
            Err(fault) if fault.remedy() == Remedy::None && batch.news.len() > 1 => {
                for job in batch.jobs() {
                    let mut alone = Batch::of(job);
                    if let Err(fault) = self.commit(&mut alone, patience).await {
                        alone.fail(&fault);
                    }
                }
            }
            Err(fault) => batch.fail(&fault),
        }
    }

    /// Writes the messages of a locked chat.
    fn write_deferred(self: &Arc<Self>, room: Uuid) {
        let writer = self.clone();
        tokio::spawn(async move {
            let mut lane = writer.deferred.lane(room);
            let permit = timeout(writer.pool.limit(), writer.deferred.permit()).await;
            while let Some(jobs) = lane.next() {
                match &permit {
                    Ok(_) => writer.write_all(jobs).await,
                    Err(_) => jobs.into_iter().for_each(|job| job.1.answer(Err(Fault::Slow.told()))),
                }
            }
        });
    }

    async fn write_all(self: &Arc<Self>, jobs: Vec<Job>) {
        let mut jobs = jobs.into_iter().peekable();
        while jobs.peek().is_some() {
            let mut batch = Batch::default();
            while batch.has_room()
                && let Some(job) = jobs.next()
            {
                self.take_up(job, &mut batch);
            }
            self.write(batch, Patience::Long).await;
        }
    }

    /// Takes the messages of locked chats out of the batch, to be written apart; all messages if no
    /// chat is locked, since the cause is then unknown.
    async fn defer_locked(self: &Arc<Self>, batch: &mut Batch) -> Result<(), Fault> {
        let lease = self.pool.lease().await?;
        let held = self.pool.timed(held_on(lease.db(), &batch.news)).await?;
        lease.give_back();
        let mut apart = HashMap::<Uuid, Vec<Job>>::new();
        for job in std::mem::take(batch).jobs() {
            let room = job.0.chat.uuid();
            if held.is_empty() || held.contains(&room) {
                apart.entry(room).or_default().push(job);
            } else {
                batch.push(job);
            }
        }
        for (room, jobs) in apart {
            tracing::debug!(%room, messages = jobs.len(), "chat row locked by another transaction; deferring its messages");
            if self.deferred.defer(room, jobs) {
                self.write_deferred(room);
            }
        }
        Ok(())
    }

    /// Commits, announces and answers all messages, or none.
    fn commit<'w>(
        self: &'w Arc<Self>,
        batch: &'w mut Batch,
        mut patience: Patience,
    ) -> BoxFuture<'w, Result<(), Fault>> {
        let commit = async move {
            let (mut tries, mut in_doubt, mut asking) = (Tries::default(), None, None);
            let mut doubted = false;
            while !batch.news.is_empty() {
                match self.commit_once(batch, &mut in_doubt, patience).await {
                    Err(_) if in_doubt.is_some() => {
                        if asking.get_or_insert_with(Instant::now).elapsed() >= self.pool.patience() {
                            self.commit_order.record_in_doubt();
                            return Err(Fault::Uncertain);
                        }
                        // The outcome is known once the rows are unlocked, or written by another transaction.
                        (patience, doubted) = (Patience::Long, true);
                        tokio::time::sleep(ASKING).await;
                    }
                    Err(fault) if patience == Patience::Brief && fault.may_be_lock_timeout() => {
                        self.defer_locked(batch).await?;
                    }
                    Err(fault) if tries.again_after(&fault).await => {}
                    // A statement that is still under way may complete later.
                    Err(_) if doubted => {
                        self.commit_order.record_in_doubt();
                        return Err(Fault::Uncertain);
                    }
                    done => return done,
                }
            }
            Ok(())
        };
        commit.boxed()
    }

    async fn commit_once(
        &self,
        batch: &mut Batch,
        in_doubt: &mut Option<InDoubt>,
        patience: Patience,
    ) -> Result<(), Fault> {
        let mut lease = self.pool.lease().await?;
        let connections = self.pool.connections_made();
        if in_doubt.is_none() && patience == Patience::Brief {
            match self.commit_optimistic(lease, batch, in_doubt, connections).await? {
                Some(unused) => lease = unused,
                None => return Ok(()),
            }
        }
        // The rows are locked from here on, so an earlier commit of the batch has ended.
        let mut decided = match self.pool.timed(decide_on(lease.db(), &batch.news, patience)).await {
            Err(fault) if fault.may_be_lock_timeout() => {
                self.roll_back(lease).await;
                return Err(fault);
            }
            decided => decided?,
        };
        let kept = match &*in_doubt {
            Some(in_doubt) => self.pool.timed(is_there_on(lease.db(), in_doubt.messages())).await?,
            None => false,
        };
        if let Some(InDoubt { outcomes, slot }) = in_doubt.take()
            && kept
        {
            self.roll_back(lease).await;
            let replies = std::mem::take(&mut batch.replies);
            slot.publish((), move |()| tell(replies, outcomes)).await;
            return Ok(());
        }
        if decided.outcomes.iter().all(Result::is_err) {
            self.roll_back(lease).await;
            tell(std::mem::take(&mut batch.replies), decided.outcomes);
            return Ok(());
        }
        if let Err(fault) = self.pool.timed(write_on(lease.db(), &batch.news, &mut decided)).await {
            if fault.may_be_lock_timeout() {
                self.roll_back(lease).await;
            }
            return Err(fault);
        }
        // Later writers to these chats get later slots.
        let slot = self.commit_order.slot();
        match self.pool.timed(execute(lease.db(), "COMMIT")).await {
            Ok(()) => lease.give_back(),
            Err(fault) => {
                if fault.is_lost_connection() {
                    *in_doubt = Some(InDoubt { outcomes: decided.outcomes, slot });
                }
                return Err(fault);
            }
        }
        if patience == Patience::Brief {
            self.cache().store(&decided, connections);
        }
        batch.tell_all(slot, decided.outcomes).await;
        Ok(())
    }

    /// Writes the batch by one statement if the cached versions are current; else returns the
    /// connection.
    ///
    /// A statement whose outcome is unknown and that completes late writes nothing, since the retry
    /// has changed the versions.
    async fn commit_optimistic(
        &self,
        lease: Lease,
        batch: &mut Batch,
        in_doubt: &mut Option<InDoubt>,
        connections: u64,
    ) -> Result<Option<Lease>, Fault> {
        let Some(mut decided) = self.cache().decide(&batch.news, connections) else {
            return Ok(Some(lease));
        };
        // Transactions with earlier slots in these chats have ended, or there is a conflict.
        let slot = self.commit_order.slot();
        match self.pool.timed(optimistic::write_on(lease.db(), &mut decided)).await {
            Ok(true) => {
                lease.give_back();
                self.cache().store(&decided, connections);
                batch.tell_all(slot, decided.outcomes).await;
                Ok(None)
            }
            Ok(false) => {
                self.cache().record_conflict(&decided);
                Ok(Some(lease))
            }
            Err(fault) => {
                self.cache().clear();
                if fault.is_lost_connection() {
                    *in_doubt = Some(InDoubt { outcomes: decided.outcomes, slot });
                }
                Err(fault)
            }
        }
    }

    fn cache(&self) -> MutexGuard<'_, VersionCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A transaction that cannot be rolled back ends with its connection.
    async fn roll_back(&self, lease: Lease) {
        if self.pool.timed(execute(lease.db(), "ROLLBACK")).await.is_ok() {
            lease.give_back();
        }
    }
}

impl Reply {
    /// The receiver may have been dropped.
    pub(super) fn answer(self, answer: Result<Outcome, StoreError>) {
        let _ = self.answer.send(answer);
    }
}

/// The outcomes of a batch whose connection was lost during the commit. Its messages are stored
/// completely or not at all, which their ids show.
struct InDoubt {
    outcomes: Vec<Outcome>,
    slot: CommitSlot,
}

impl InDoubt {
    fn messages(&self) -> Vec<Uuid> {
        self.outcomes.iter().flatten().map(|appended| appended.message.id.uuid()).collect()
    }
}

impl Batch {
    fn of(job: Job) -> Self {
        let mut batch = Self::default();
        batch.push(job);
        batch
    }

    fn push(&mut self, (new, reply): Job) {
        self.bytes += new.content.len();
        self.news.push(new);
        self.replies.push(reply);
    }

    fn jobs(self) -> impl Iterator<Item = Job> {
        self.news.into_iter().zip(self.replies)
    }

    fn has_room(&self) -> bool {
        self.news.len() < MAX_BATCH && self.bytes < MAX_BATCH_BYTES
    }

    /// Announces and answers a committed batch.
    async fn tell_all(&mut self, slot: CommitSlot, outcomes: Vec<Outcome>) {
        measure::batch(self.news.len());
        let replies = std::mem::take(&mut self.replies);
        slot.publish((), move |()| tell(replies, outcomes)).await;
    }

    fn fail(self, fault: &Fault) {
        tracing::warn!(fault = ?fault, messages = self.news.len(), "messages could not be written");
        for reply in self.replies {
            reply.answer(Err(fault.told()));
        }
    }
}

/// Announces what was stored, in the order of the chats, and answers.
fn tell(replies: Vec<Reply>, outcomes: Vec<Outcome>) {
    for (reply, outcome) in replies.into_iter().zip(outcomes) {
        if let Ok(appended) = &outcome
            && catch_unwind(AssertUnwindSafe(|| reply.on_commit.run(appended))).is_err()
        {
            tracing::error!("publishing a message panicked");
        }
        let _ = reply.answer.send(Ok(outcome));
    }
}

impl PostgresStore {
    /// Stores a message, in one transaction with others that are queued.
    pub(super) async fn append_message(
        &self,
        new: NewMessage,
        on_commit: OnCommit<Appended>,
    ) -> Result<Result<Appended, AppendRefused>, StoreError> {
        self.appender.append(new, on_commit).await
    }
}
