//! Metrics of password hashing.

use std::sync::LazyLock;

use metrics::{Counter, Gauge, counter, gauge};

use crate::{PASSWORD_HASHES, PASSWORD_HASHES_NOW};

struct Handles {
    hashes: Counter,
    now: Gauge,
}

static HANDLES: LazyLock<Handles> =
    LazyLock::new(|| Handles { hashes: counter!(PASSWORD_HASHES), now: gauge!(PASSWORD_HASHES_NOW) });

/// A hash in progress, until it is dropped.
#[must_use]
#[derive(Debug)]
pub struct Hashing(());

/// Counts a hash, and marks it as in progress.
pub fn hashing() -> Hashing {
    HANDLES.hashes.increment(1);
    HANDLES.now.increment(1.0);
    Hashing(())
}

impl Drop for Hashing {
    fn drop(&mut self) {
        HANDLES.now.decrement(1.0);
    }
}

pub(crate) fn begin() {
    HANDLES.hashes.absolute(0);
    HANDLES.now.set(0.0);
}
