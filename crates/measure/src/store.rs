//! Work on the store.

use std::sync::LazyLock;
use std::time::Instant;

use metrics::{Gauge, Histogram, gauge, histogram};

use crate::span::{Carried, Step, step};
use crate::{STORE_BATCH, STORE_CONNECTIONS, STORE_CONNECTIONS_MAX, STORE_IN_PROGRESS, STORE_SECONDS};

/// A kind of work.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Nothing is changed.
    Read,
    /// Something is changed.
    Change,
    /// A message or event is added to a room.
    Append,
}

/// What spans of each kind of work are called.
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

/// A piece of work, until it is dropped: however it ends, it is counted.
#[must_use]
#[derive(Debug)]
pub struct Doing {
    work: Work,
    step: Step,
    since: Instant,
}

/// A piece of work begins.
pub fn doing(work: Work) -> Doing {
    HANDLES.in_progress[work as usize].increment(1.0);
    Doing { work, step: step(SPANS[work as usize]), since: Instant::now() }
}

impl Doing {
    /// For what belongs to it and is done elsewhere, or later.
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

/// So many changes shared a commit.
pub fn batch(changes: usize) {
    // No batch comes near the numbers that are not exact.
    HANDLES.batch.record(f64::from(u32::try_from(changes).unwrap_or(u32::MAX)));
}

/// A connection at work, until it is dropped.
#[must_use]
#[derive(Debug)]
pub struct InUse(());

/// A connection goes to work.
pub fn connection_in_use() -> InUse {
    HANDLES.in_use.increment(1.0);
    InUse(())
}

impl Drop for InUse {
    fn drop(&mut self) {
        HANDLES.in_use.decrement(1.0);
    }
}

/// So many connections there may be.
pub fn connections_at_most(number: usize) {
    gauge!(STORE_CONNECTIONS_MAX).set(f64::from(u32::try_from(number).unwrap_or(u32::MAX)));
}

pub(crate) fn begin() {
    LazyLock::force(&HANDLES);
}
