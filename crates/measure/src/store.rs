//! Metrics of the store.

use std::sync::LazyLock;
use std::time::Instant;

use metrics::{Gauge, Histogram, gauge, histogram};

use crate::span::{Carried, Step, step};
use crate::{STORE_BATCH, STORE_CONNECTIONS, STORE_CONNECTIONS_MAX, STORE_IN_PROGRESS, STORE_SECONDS};

/// A kind of operation.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// A read.
    Read,
    /// A write other than an append.
    Change,
    /// A message or event is appended to a room.
    Append,
}

/// The names of the spans, in the order of [`Work`].
const SPANS: [&str; 3] = ["store.read", "store.change", "store.append"];

struct Handles {
    seconds: [Histogram; 3],
    in_progress: [Gauge; 3],
    batch: Histogram,
    in_use: Gauge,
}

static HANDLES: LazyLock<Handles> = LazyLock::new(|| Handles {
    seconds: ["read", "change", "append"].map(|work| histogram!(STORE_SECONDS, "work" => work)),
    in_progress: ["read", "change", "append"].map(|work| gauge!(STORE_IN_PROGRESS, "work" => work)),
    batch: histogram!(STORE_BATCH),
    in_use: gauge!(STORE_CONNECTIONS),
});

/// An operation in progress. Dropping it records its duration, whatever its outcome.
#[must_use]
#[derive(Debug)]
pub struct Doing {
    work: Work,
    step: Step,
    since: Instant,
}

/// Starts an operation.
pub fn doing(work: Work) -> Doing {
    HANDLES.in_progress[work as usize].increment(1.0);
    Doing { work, step: step(SPANS[work as usize]), since: Instant::now() }
}

impl Doing {
    /// The span, for work of this operation that runs on another thread or later.
    pub fn carry(&self) -> Carried {
        self.step.carry()
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        HANDLES.in_progress[self.work as usize].decrement(1.0);
        HANDLES.seconds[self.work as usize].record(self.since.elapsed().as_secs_f64());
    }
}

/// Records the number of changes that shared a commit.
pub fn batch(changes: usize) {
    // Batches are far smaller than the numbers that a float cannot hold.
    HANDLES.batch.record(f64::from(u32::try_from(changes).unwrap_or(u32::MAX)));
}

/// A connection in use, until it is dropped.
#[must_use]
#[derive(Debug)]
pub struct InUse(());

/// Marks a connection as in use.
pub fn connection_in_use() -> InUse {
    HANDLES.in_use.increment(1.0);
    InUse(())
}

impl Drop for InUse {
    fn drop(&mut self) {
        HANDLES.in_use.decrement(1.0);
    }
}

/// Sets the maximum number of connections.
pub fn connections_at_most(number: usize) {
    gauge!(STORE_CONNECTIONS_MAX).set(f64::from(u32::try_from(number).unwrap_or(u32::MAX)));
}

pub(crate) fn begin() {
    LazyLock::force(&HANDLES);
}
