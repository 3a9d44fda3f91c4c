//! Changes that are written separately from the others: those of rows that another transaction has
//! locked, for example a change of another process that hangs.
//!
//! They are written lane by lane, so that only they wait. Further changes of such a lane queue
//! behind them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use super::batch::Job;
use super::{BatchWork, QUEUE};
use crate::error::crowded;

/// The queues of the lanes that are written separately.
pub(super) struct Lanes<W: BatchWork> {
    /// The number of lanes. Only the task that queues changes adds one.
    open: AtomicUsize,
    queues: Mutex<Queues<W>>,
}

struct Queues<W: BatchWork> {
    waiting: HashMap<Uuid, Vec<Job<W>>>,
    /// The number of changes in all queues.
    changes: usize,
}

impl<W: BatchWork> Lanes<W> {
    pub(super) fn new() -> Self {
        let queues = Mutex::new(Queues { waiting: HashMap::new(), changes: 0 });
        Self { open: AtomicUsize::new(0), queues }
    }

    /// Queues the change if its lane is written separately; else returns it.
    pub(super) fn queue(&self, job: Job<W>) -> Option<Job<W>> {
        if self.open.load(Ordering::Acquire) == 0 {
            return Some(job);
        }
        let mut queues = self.queues();
        let Queues { waiting, changes } = &mut *queues;
        let Some(queue) = waiting.get_mut(&W::lane(&job.change)) else { return Some(job) };
        if *changes >= QUEUE {
            job.reply.answer(Err(crowded()));
        } else {
            *changes += 1;
            queue.push(job);
        }
        None
    }

    /// Queues changes of one lane, and refuses those for which there is no room. Returns `true` if the
    /// lane was not written separately yet: the caller must then drain it.
    pub(super) fn defer(&self, lane: Uuid, mut jobs: Vec<Job<W>>) -> bool {
        let mut queues = self.queues();
        let room = QUEUE.saturating_sub(queues.changes);
        for job in jobs.drain(room.min(jobs.len())..) {
            job.reply.answer(Err(crowded()));
        }
        queues.changes += jobs.len();
        match queues.waiting.entry(lane) {
            Entry::Occupied(queue) => {
                queue.into_mut().extend(jobs);
                false
            }
            Entry::Vacant(none) => {
                none.insert(jobs);
                self.open.fetch_add(1, Ordering::Release);
                true
            }
        }
    }

    /// Takes the queued changes of a lane; further ones still queue there. `None` when its queue is
    /// empty: the lane is then written with the others again.
    pub(super) fn next(&self, lane: Uuid) -> Option<Vec<Job<W>>> {
        let mut queues = self.queues();
        let jobs = queues.waiting.get_mut(&lane).map(std::mem::take).unwrap_or_default();
        queues.changes -= jobs.len();
        if jobs.is_empty() {
            queues.waiting.remove(&lane);
            self.open.fetch_sub(1, Ordering::Release);
            return None;
        }
        Some(jobs)
    }

    fn queues(&self) -> MutexGuard<'_, Queues<W>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
