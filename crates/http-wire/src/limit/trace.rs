//! The trace that failed authentication leaves in the log: a line at level `warn` when an address
//! fails first, and from then on one a minute with the number of failures since the last. Programs
//! such as fail2ban read it.

use std::net::IpAddr;
use std::sync::Arc;

use domain::ports::Clock;
use domain::tally::{Reportable, Tally};

use super::address::Source;

/// The number of addresses with separate lines per minute; those of others are counted together.
const MOST_TOLD: usize = 1000;

/// Failed authentication by address.
pub(super) struct FailureTrace {
    clock: Arc<dyn Clock>,
    pub(super) tally: Tally<u128, IpAddr>,
}

impl FailureTrace {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, tally: Tally::new(MOST_TOLD) }
    }

    pub(super) fn note(&self, source: Source) {
        self.tally.note(source.key(), source.address(), 1);
    }

    /// Writes the lines that are due.
    pub(super) fn report(&self) {
        report(self.tally.due(self.clock.steady()));
    }

    /// Writes all lines that were not written yet.
    pub(super) fn report_rest(&self) {
        report(self.tally.rest());
    }
}

/// The regular expression in `docs/operations.md` matches the first line; a test compares them.
fn report(due: Reportable<IpAddr>) {
    for (address, count) in due.each {
        tracing::warn!(client.address = %address, count, "failed authentication");
    }
    if due.others > 0 {
        tracing::warn!(count = due.others, "failed authentication from further addresses");
    }
}
