//! What was lost between nodes is looked up in the store.

use std::time::Duration;

use crate::time::Timestamp;

/// So far the clocks of two nodes may be from one another; what comes later than this is not taken.
pub const CLOCKS_APART: Duration = Duration::from_secs(60);

/// So much earlier than it is noticed something may have been lost: a link counts as there until it was silent for a
/// while, what was sent last may still wait, a change is dated before it is made, and by the clock of another node.
const UNNOTICED: Duration = Duration::from_secs(30).saturating_add(CLOCKS_APART);

/// So long it takes until the other nodes know again what this one wants.
const SETTLES: Duration = Duration::from_secs(5);

/// Since when something may be lost, of which nobody has heard yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loss(Option<Timestamp>);

impl Loss {
    /// Since then, or since earlier.
    pub fn note(&mut self, since: Timestamp) {
        self.0 = Some(self.0.map_or(since, |earlier| earlier.min(since)));
    }

    /// Since when; nothing until the next loss.
    pub fn take(&mut self) -> Option<Timestamp> {
        self.0.take()
    }
}

/// From when on the store is to be looked at for what may have been lost.
#[derive(Debug, Default)]
pub struct Healing(Option<Open>);

#[derive(Clone, Copy, Debug)]
struct Open {
    since: Timestamp,
    until: Timestamp,
}

impl Healing {
    /// From `since` until `now` something may have been lost.
    pub fn lost(&mut self, since: Timestamp, now: Timestamp) {
        let (since, until) = (since.minus(UNNOTICED), now.plus(SETTLES));
        self.0 = Some(match self.0 {
            Some(open) => Open { since: open.since.min(since), until: open.until.max(until) },
            None => Open { since, until },
        });
    }

    /// Since when what has happened may not be known here; `None` if all is.
    pub fn due(&self) -> Option<Timestamp> {
        self.0.map(|open| open.since)
    }

    /// At `begun` it was begun to look at all that has happened since `looked_since`, and all of that is known by now.
    pub fn looked(&mut self, looked_since: Timestamp, begun: Timestamp) {
        let Some(open) = &mut self.0 else { return };
        if open.since < looked_since {
            // An older loss was heard of meanwhile.
            return;
        }
        if begun > open.until {
            self.0 = None;
        } else {
            // What was changed then may not have been visible yet.
            open.since = open.since.max(begun.minus(UNNOTICED));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn what_is_lost_is_looked_up_until_the_others_know_again() {
        let mut healing = Healing::default();
        assert_eq!(healing.due(), None);
        healing.lost(at(100), at(101));
        assert_eq!(healing.due(), Some(at(10)));
        healing.looked(at(10), at(102));
        assert_eq!(healing.due(), Some(at(12)), "more may be lost");
        // The link is away for long.
        healing.lost(at(102), at(1_000));
        assert_eq!(healing.due(), Some(at(12)));
        healing.looked(at(12), at(1_001));
        assert_eq!(healing.due(), Some(at(911)));
        healing.looked(at(911), at(1_006));
        assert_eq!(healing.due(), None);
    }

    #[test]
    fn of_several_losses_the_earliest_counts_once() {
        let mut loss = Loss::default();
        for since in [7, 5, 6] {
            loss.note(at(since));
        }
        assert_eq!((loss.take(), loss.take()), (Some(at(5)), None));
    }

    #[test]
    fn an_older_loss_that_is_heard_of_late_is_looked_up() {
        let mut healing = Healing::default();
        healing.lost(at(100), at(100));
        healing.lost(at(50), at(101));
        healing.looked(at(10), at(200));
        assert_eq!(healing.due(), Some(at(-40)));
        healing.looked(at(-40), at(201));
        assert_eq!(healing.due(), None);
    }
}
