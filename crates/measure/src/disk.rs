//! Metrics of the disk with the data.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use metrics::{Counter, Gauge, counter, gauge};

use crate::{CONTENT_BYTES, DISK_FREE, STORE_FULL, WRITES_REFUSED};

/// How long the store counts as full after its last failed write.
const FULL_FOR: Duration = Duration::from_secs(15);

static FREE: LazyLock<Gauge> = LazyLock::new(|| gauge!(DISK_FREE));
static CONTENT: LazyLock<Gauge> = LazyLock::new(|| gauge!(CONTENT_BYTES));
static REFUSED: LazyLock<Counter> = LazyLock::new(|| counter!(WRITES_REFUSED));
static FULL: LazyLock<Counter> = LazyLock::new(|| counter!(STORE_FULL));
static FULL_AT: Mutex<Option<Instant>> = Mutex::new(None);

/// Sets the free space in bytes.
#[expect(clippy::cast_precision_loss, reason = "a metric needs no exact value")]
pub fn disk_free(bytes: u64) {
    FREE.set(bytes as f64);
}

/// Sets the bytes of all messages and memories.
#[expect(clippy::cast_precision_loss, reason = "a metric needs no exact value")]
pub fn content_bytes(bytes: u64) {
    CONTENT.set(bytes as f64);
}

/// Counts a large write that was refused because of low disk space.
pub fn write_refused() {
    REFUSED.increment(1);
}

/// Counts a write of the store that failed because its disk is full.
pub fn store_full() {
    FULL.increment(1);
    *FULL_AT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
}

/// Returns whether a write of the store failed recently because its disk is full.
pub fn is_store_full() -> bool {
    FULL_AT.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|at| at.elapsed() < FULL_FOR)
}

pub(crate) fn begin() {
    LazyLock::force(&REFUSED);
    LazyLock::force(&FULL);
}
