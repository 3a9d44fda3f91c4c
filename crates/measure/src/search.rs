//! Metrics of the index for searches.

use std::sync::LazyLock;

use metrics::{Counter, Gauge, counter, gauge};

use crate::{SEARCH_BEHIND, SEARCH_INDEXED};

static INDEXED: LazyLock<Counter> = LazyLock::new(|| counter!(SEARCH_INDEXED));
static BEHIND: LazyLock<Gauge> = LazyLock::new(|| gauge!(SEARCH_BEHIND));

/// Counts indexed messages.
pub fn indexed(messages: u64) {
    INDEXED.increment(messages);
}

/// Records the number of messages that were not indexed.
#[expect(clippy::cast_precision_loss, reason = "a figure to be looked at")]
pub fn search_behind(messages: u64) {
    BEHIND.set(messages as f64);
}

pub(crate) fn begin() {
    LazyLock::force(&INDEXED);
    LazyLock::force(&BEHIND);
}
