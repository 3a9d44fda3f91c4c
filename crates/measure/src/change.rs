//! Metrics of the change log.

use std::sync::LazyLock;

use metrics::{Counter, counter};

use crate::CHANGES_UNKNOWN;

static UNKNOWN: LazyLock<Counter> = LazyLock::new(|| counter!(CHANGES_UNKNOWN));

/// Counts an entry of the change log that was skipped because this version does not know its kind.
pub fn unknown_change() {
    UNKNOWN.increment(1);
}

pub(crate) fn begin() {
    LazyLock::force(&UNKNOWN);
}
