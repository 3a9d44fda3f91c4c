//! How many connections each caller has.
//!
//! A socket that was ended gives its place up at once, but its connection stays until its client has
//! taken what was on its way, or is given up on. Those count as well, or they could be collected.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use domain::id::ParticipantId;

use super::{ClaimRefused, Hub};

/// Connections by caller.
pub(super) type Seats = HashMap<ParticipantId, usize>;

/// One connection; given up when it is dropped.
pub(crate) struct Seat {
    hub: Arc<Hub>,
    who: ParticipantId,
}

impl Hub {
    /// Counts one more connection, if the caller may have one.
    pub(super) fn seat(self: &Arc<Self>, who: ParticipantId) -> Result<Seat, ClaimRefused> {
        let mut seats = self.seats();
        let taken = seats.entry(who).or_default();
        if *taken >= self.config.max_sockets_per_caller {
            return Err(ClaimRefused::TooMany);
        }
        *taken += 1;
        Ok(Seat { hub: self.clone(), who })
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.hub.seats();
        match seats.get_mut(&self.who) {
            Some(taken) if *taken > 1 => *taken -= 1,
            _ => {
                seats.remove(&self.who);
            }
        }
    }
}
