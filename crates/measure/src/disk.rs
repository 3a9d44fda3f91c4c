//! The disk that the data is on.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use metrics::{Counter, Gauge, counter, gauge};

use crate::{CONTENT_BYTES, DISK_FREE, STORE_FULL, WRITES_REFUSED};

/// For how long a store whose disk was full is taken to be full, if nothing else is heard of it.
const FULL_FOR: Duration = Duration::from_secs(15);

static FREE: LazyLock<Gauge> = LazyLock::new(|| gauge!(DISK_FREE));
static CONTENT: LazyLock<Gauge> = LazyLock::new(|| gauge!(CONTENT_BYTES));
static REFUSED: LazyLock<Counter> = LazyLock::new(|| counter!(WRITES_REFUSED));
static FULL: LazyLock<Counter> = LazyLock::new(|| counter!(STORE_FULL));
static FULL_AT: Mutex<Option<Instant>> = Mutex::new(None);

/// So many bytes are free.
#[expect(clippy::cast_precision_loss, reason = "a figure to be looked at")]
pub fn disk_free(bytes: u64) {
    FREE.set(bytes as f64);
}

/// So many bytes are those of messages and memories.
#[expect(clippy::cast_precision_loss, reason = "a figure to be looked at")]
pub fn content_bytes(bytes: u64) {
    CONTENT.set(bytes as f64);
}

/// A request was refused that would have written much, as there is little room.
pub fn write_refused() {
    REFUSED.increment(1);
}

/// The store could not write, as its disk is full.
pub fn store_full() {
    FULL.increment(1);
    *FULL_AT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
}

/// Whether the store could not write a short time ago, as its disk is full.
pub fn is_store_full() -> bool {
    FULL_AT.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|at| at.elapsed() < FULL_FOR)
}

pub(crate) fn begin() {
    LazyLock::force(&REFUSED);
    LazyLock::force(&FULL);
}
