//! What this node knows to have been lost on the way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::bus::Loss;
use domain::ports::Clock;
use domain::time::Timestamp;

/// Since when something was lost of which nobody has heard yet.
pub(crate) struct Losses {
    clock: Arc<dyn Clock>,
    /// What others may not have heard of this node.
    unsent: Mutex<Loss>,
    /// What this node may not have heard of others.
    unheard: Mutex<Loss>,
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
        of(&self.unsent).note(since);
    }

    /// Since then nothing was heard for certain.
    pub(crate) fn unheard(&self, since: Timestamp) {
        of(&self.unheard).note(since);
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
