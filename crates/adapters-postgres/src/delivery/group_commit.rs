//! Group commit of delivery steps.
//!
//! One task takes the steps that have queued while it wrote the previous ones, and writes them in
//! one transaction, like the task for messages ([`crate::message::append`]). It does not wait for
//! locked messages and deliveries, and only briefly for locked attempts. A step that meets such a
//! lock, or needs more than its delivery, runs in a transaction of its own, as do all steps of a
//! batch that failed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use domain::delivery::{AdvanceDelivery, AdvanceRefused, Advanced};
use domain::store::{OnCommit, StoreError};
use futures_util::FutureExt;
use measure::Work;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::advance::advance_on;
use super::steps::{Decided, decide_on, write_on};
use crate::commit_order::CommitOrder;
use crate::error::{Fault, Remedy, closed, crowded};
use crate::pool::Pool;
use crate::run::{Db, Work as OnConnection, change_with, execute};

/// The maximum number of steps per transaction.
const MAX_BATCH: usize = 256;

/// The maximum number of queued steps; further ones are refused as overload.
const QUEUE: usize = 8192;

type Outcome = Result<Advanced, AdvanceRefused>;

/// A step, and the receiver of its result.
struct Job {
    command: AdvanceDelivery,
    reply: Reply,
}

struct Reply {
    /// The time at which it was queued.
    since: Instant,
    on_commit: OnCommit<Advanced>,
    answer: oneshot::Sender<Result<Outcome, StoreError>>,
}

/// The queue in front of the writing task, which ends with it.
#[derive(Clone)]
pub(crate) struct Advancer(Sender<Job>);

impl Advancer {
    /// Starts the task in the runtime that this is called in.
    pub(crate) fn start(pool: Pool, commit_order: Arc<CommitOrder>) -> Self {
        let (sender, jobs) = channel(QUEUE);
        tokio::spawn(Arc::new(Writer { pool, commit_order }).run(jobs));
        Self(sender)
    }

    /// Takes a step, see [`domain::delivery::DeliveryRepository::advance`].
    pub(super) async fn advance(
        &self,
        command: AdvanceDelivery,
        on_commit: OnCommit<Advanced>,
    ) -> Result<Outcome, StoreError> {
        let doing = measure::doing(Work::Change);
        let carried = doing.carry();
        let on_commit = OnCommit::new(move |advanced| carried.within(|| on_commit.run(advanced)));
        let (answer, wait) = oneshot::channel();
        let job = Job { command, reply: Reply { since: Instant::now(), on_commit, answer } };
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
}

impl Writer {
    async fn run(self: Arc<Self>, mut jobs: Receiver<Job>) {
        let mut batch = Vec::new();
        while jobs.recv_many(&mut batch, MAX_BATCH).await > 0 {
            let (commands, mut replies) = self.waited_for(batch.drain(..));
            // A panic must not end this task.
            let written = AssertUnwindSafe(self.write(&commands, &mut replies)).catch_unwind().await;
            let written = written.unwrap_or_else(|_| Err(Fault::Row("taking steps panicked".to_owned())));
            if let Err(fault) = written {
                tracing::warn!(fault = ?fault, changes = commands.len(), "group commit of delivery steps failed");
                // A retry cannot help any of them, unless a lock was in the way.
                if fault.remedy() == Remedy::Later && !fault.may_be_lock_timeout() {
                    fail(&fault, replies.iter_mut());
                }
            }
            for (command, reply) in commands.into_iter().zip(replies) {
                if let Some(reply) = reply {
                    self.write_alone(Job { command, reply });
                }
            }
        }
    }

    /// Separates the steps whose callers still wait; the others get an error.
    fn waited_for(&self, jobs: impl Iterator<Item = Job>) -> (Vec<AdvanceDelivery>, Vec<Option<Reply>>) {
        let (mut commands, mut replies) = (Vec::new(), Vec::new());
        for Job { command, reply } in jobs {
            if reply.since.elapsed() < self.pool.limit() {
                commands.push(command);
                replies.push(Some(reply));
            } else {
                fail(&Fault::Slow, [Some(reply)].iter_mut());
            }
        }
        (commands, replies)
    }

    /// Writes the steps that can share a transaction. Takes the replies of those that were written or refused.
    async fn write(&self, commands: &[AdvanceDelivery], replies: &mut [Option<Reply>]) -> Result<(), Fault> {
        if commands.is_empty() {
            return Ok(());
        }
        let lease = self.pool.lease().await?;
        let decided = self.pool.timed(decide_on(lease.db(), commands)).await?;
        if decided.is_nothing() {
            if self.pool.timed(execute(lease.db(), "ROLLBACK")).await.is_ok() {
                lease.give_back();
            }
            answer(decided, replies);
            return Ok(());
        }
        self.pool.timed(write_on(lease.db(), &decided)).await?;
        // Later writers to these messages get later slots.
        let slot = self.commit_order.slot();
        if let Err(fault) = self.pool.timed(execute(lease.db(), "COMMIT")).await {
            // The outcome is unknown, so they are not retried.
            let uncertain = fault.is_lost_connection();
            if uncertain {
                self.commit_order.record_in_doubt();
            }
            let decided = decided.outcomes.iter().zip(replies);
            let decided = decided.filter_map(|(outcome, reply)| outcome.is_some().then_some(reply));
            fail(if uncertain { &Fault::Uncertain } else { &fault }, decided);
            return if uncertain { Ok(()) } else { Err(fault) };
        }
        lease.give_back();
        measure::batch(commands.len());
        let mut decided = decided.replies(replies);
        slot.publish((), move |()| decided.drain(..).for_each(|(reply, outcome)| reply.tell(outcome))).await;
        Ok(())
    }

    /// Runs a step in a transaction of its own, concurrently.
    fn write_alone(self: &Arc<Self>, Job { command, reply: Reply { on_commit, answer, .. } }: Job) {
        let writer = self.clone();
        tokio::spawn(async move {
            let tell = move |advanced: &Advanced| on_commit.run(advanced);
            let done = change_with(&writer.pool, &writer.commit_order, &command, &alone, tell).await;
            // The receiver may have been dropped.
            let _ = answer.send(done.map_err(StoreError::from));
        });
    }
}

fn alone<'c>(db: &'c Db, command: &'c AdvanceDelivery) -> OnConnection<'c, Outcome> {
    advance_on(db, command).boxed()
}

impl Reply {
    /// Announces a step that was stored, and answers. The receiver may have been dropped.
    fn tell(self, outcome: Outcome) {
        if let Ok(advanced) = &outcome
            && catch_unwind(AssertUnwindSafe(|| self.on_commit.run(advanced))).is_err()
        {
            tracing::error!("publishing a delivery step panicked");
        }
        let _ = self.answer.send(Ok(outcome));
    }
}

impl Decided {
    /// The outcomes, with their replies.
    fn replies(self, replies: &mut [Option<Reply>]) -> Vec<(Reply, Outcome)> {
        let decided = self.outcomes.into_iter().zip(replies);
        decided
            .filter_map(|(outcome, reply)| Some((outcome?, reply)))
            .filter_map(|(outcome, reply)| Some((reply.take()?, outcome)))
            .collect()
    }
}

/// Answers the remaining replies with an error.
fn fail<'r>(fault: &Fault, replies: impl Iterator<Item = &'r mut Option<Reply>>) {
    for reply in replies.filter_map(Option::take) {
        let _ = reply.answer.send(Err(fault.told()));
    }
}

/// Answers refused steps; nothing was stored.
fn answer(decided: Decided, replies: &mut [Option<Reply>]) {
    decided.replies(replies).into_iter().for_each(|(reply, outcome)| reply.tell(outcome));
}
