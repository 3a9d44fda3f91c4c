//! How many sockets have ended for each reason.

use std::sync::atomic::{AtomicU64, Ordering};

use domain::account::EndReason;

/// Numbers of sockets by reason, in the order of [`EndReason::ALL`].
pub type EndCounts = [u64; EndReason::ALL.len()];

/// The number of sockets that have ended for each reason.
#[derive(Default)]
pub(super) struct Endings([AtomicU64; EndReason::ALL.len()]);

impl Endings {
    pub(super) fn count(&self, reason: EndReason) {
        self.0[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> EndCounts {
        std::array::from_fn(|reason| self.0[reason].load(Ordering::Relaxed))
    }
}
