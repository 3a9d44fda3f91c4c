//! What this node knows to have been lost on the way.

use std::sync::{Arc, Mutex, PoisonError};

use domain::ports::Clock;
use domain::time::Timestamp;

/// Since when something was lost of which nobody has heard yet.
pub(crate) struct Losses {
    clock: Arc<dyn Clock>,
    /// What others may not have heard of this node.
    unsent: Mutex<Option<Timestamp>>,
    /// What this node may not have heard of others.
    unheard: Mutex<Option<Timestamp>>,
}

impl Losses {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, unsent: Mutex::default(), unheard: Mutex::default() }
    }

    /// Something was not sent.
    pub(crate) fn unsent(&self) {
        self.unsent_since(self.clock.now());
    }

    /// Since then something was perhaps not sent, or not to all who want it.
    pub(crate) fn unsent_since(&self, since: Timestamp) {
        note(&self.unsent, since);
    }

    /// Since then nothing was heard for certain.
    pub(crate) fn unheard(&self, since: Timestamp) {
        note(&self.unheard, since);
    }

    pub(crate) fn take_unsent(&self) -> Option<Timestamp> {
        take(&self.unsent)
    }

    pub(crate) fn take_unheard(&self) -> Option<Timestamp> {
        take(&self.unheard)
    }
}

fn note(of: &Mutex<Option<Timestamp>>, at: Timestamp) {
    let mut since = of.lock().unwrap_or_else(PoisonError::into_inner);
    *since = Some(since.map_or(at, |since| since.min(at)));
}

fn take(of: &Mutex<Option<Timestamp>>) -> Option<Timestamp> {
    of.lock().unwrap_or_else(PoisonError::into_inner).take()
}
