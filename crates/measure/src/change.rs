//! What other processes have changed.

use std::sync::LazyLock;

use metrics::{Counter, counter};

use crate::CHANGES_UNKNOWN;

static UNKNOWN: LazyLock<Counter> = LazyLock::new(|| counter!(CHANGES_UNKNOWN));

/// An entry of the log of changes was passed over, as this program does not know its kind.
pub fn unknown_change() {
    UNKNOWN.increment(1);
}

pub(crate) fn begin() {
    LazyLock::force(&UNKNOWN);
}
