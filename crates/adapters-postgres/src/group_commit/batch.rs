//! Changes of one transaction, and what their callers wait for.

use std::panic::{AssertUnwindSafe, catch_unwind};

use domain::store::{OnCommit, StoreError};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{BatchWork, Decided, Outcome};
use crate::commit_order::CommitSlot;
use crate::error::Fault;

/// The maximum number of changes per transaction.
pub(super) const MAX_BATCH: usize = 256;

/// The size of changes at which a batch is full.
pub(super) const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// A change, and the receiver of its result.
pub(super) struct Job<W: BatchWork> {
    pub(super) change: W::Change,
    pub(super) reply: Reply<W>,
}

pub(super) struct Reply<W: BatchWork> {
    /// The time at which it was queued.
    pub(super) since: Instant,
    pub(super) on_commit: OnCommit<W::Stored>,
    pub(super) answer: oneshot::Sender<Result<Outcome<W>, StoreError>>,
}

impl<W: BatchWork> Reply<W> {
    /// The receiver may have been dropped.
    pub(super) fn answer(self, answer: Result<Outcome<W>, StoreError>) {
        let _ = self.answer.send(answer);
    }
}

/// Changes of one transaction; each has its reply at the same index.
pub(super) struct Batch<W: BatchWork> {
    pub(super) changes: Vec<W::Change>,
    replies: Vec<Reply<W>>,
    bytes: usize,
}

impl<W: BatchWork> Default for Batch<W> {
    fn default() -> Self {
        Self { changes: Vec::new(), replies: Vec::new(), bytes: 0 }
    }
}

impl<W: BatchWork> Batch<W> {
    pub(super) fn of(job: Job<W>) -> Self {
        let mut batch = Self::default();
        batch.push(job);
        batch
    }

    pub(super) fn push(&mut self, Job { change, reply }: Job<W>) {
        self.bytes += W::bytes(&change);
        self.changes.push(change);
        self.replies.push(reply);
    }

    pub(super) fn jobs(self) -> impl Iterator<Item = Job<W>> {
        self.changes.into_iter().zip(self.replies).map(|(change, reply)| Job { change, reply })
    }

    pub(super) fn has_room(&self) -> bool {
        self.changes.len() < MAX_BATCH && self.bytes < MAX_BATCH_BYTES
    }

    /// Takes out the changes at these indexes, which ascend.
    pub(super) fn remove(&mut self, indexes: &[usize]) -> Vec<Job<W>> {
        let take =
            |index: &usize| Job { change: self.changes.remove(*index), reply: self.replies.remove(*index) };
        let mut removed = indexes.iter().rev().map(take).collect::<Vec<_>>();
        removed.reverse();
        removed
    }

    /// Announces and answers a committed batch.
    pub(super) async fn publish(&mut self, slot: CommitSlot, decided: W::Decided) {
        measure::batch(self.replies.len());
        let (replies, outcomes) = (std::mem::take(&mut self.replies), decided.into_outcomes());
        slot.publish((), move |()| settle(replies, outcomes)).await;
    }

    /// Answers a batch of which nothing is stored.
    pub(super) fn answer(&mut self, decided: W::Decided) {
        settle(std::mem::take(&mut self.replies), decided.into_outcomes());
    }

    pub(super) fn fail(self, fault: &Fault) {
        tracing::warn!(fault = ?fault, changes = self.changes.len(), "{} could not be written", W::NAME);
        for reply in self.replies {
            reply.answer(Err(fault.to_store_error()));
        }
    }
}

/// Announces what was stored, in the order of the changes, and answers.
fn settle<W: BatchWork>(replies: Vec<Reply<W>>, outcomes: Vec<Outcome<W>>) {
    for (reply, outcome) in replies.into_iter().zip(outcomes) {
        if let Ok(stored) = &outcome
            && catch_unwind(AssertUnwindSafe(|| reply.on_commit.run(stored))).is_err()
        {
            tracing::error!("publishing one of the {} panicked", W::NAME);
        }
        let _ = reply.answer.send(Ok(outcome));
    }
}
