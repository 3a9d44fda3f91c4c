//! Known losses of events on the bus.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::bus::Loss;
use domain::ports::Clock;
use domain::time::Timestamp;

/// The time of the earliest loss that was not taken yet.
pub(crate) struct Losses {
    clock: Arc<dyn Clock>,
    /// Events of this node that others may not have received.
    unsent: Mutex<Loss>,
    /// Events of others that this node may not have received.
    unheard: Mutex<Loss>,
}

impl Losses {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, unsent: Mutex::default(), unheard: Mutex::default() }
    }

    /// Records that an event was not sent.
    pub(crate) fn unsent(&self) {
        self.unsent_since(self.clock.now());
    }

    /// Records that events since then may not have been sent to all nodes that need them.
    pub(crate) fn unsent_since(&self, since: Timestamp) {
        of(&self.unsent).record(since);
    }

    /// Records that events since then may not have been received.
    pub(crate) fn unheard(&self, since: Timestamp) {
        of(&self.unheard).record(since);
    }

    pub(crate) fn take_unsent(&self) -> Option<Timestamp> {
        of(&self.unsent).take()
    }

    pub(crate) fn take_unheard(&self) -> Option<Timestamp> {
        of(&self.unheard).take()
    }
}

fn of(loss: &Mutex<Loss>) -> MutexGuard<'_, Loss> {
    loss.lock().unwrap_or_else(PoisonError::into_inner)
}
