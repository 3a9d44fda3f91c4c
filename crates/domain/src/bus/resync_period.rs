//! Resynchronization after a loss of events between nodes: the period that must be read from the
//! store.

use std::time::Duration;

use crate::time::Timestamp;

/// The maximum difference between the clocks of two nodes; messages with a larger one are rejected.
pub const CLOCKS_APART: Duration = Duration::from_secs(60);

/// How long before its detection a loss may have begun: a link counts as up until it was silent for
/// a while, the last messages may still be queued, and a change is dated before it is made, by the
/// clock of another node.
const UNNOTICED: Duration = Duration::from_secs(30).saturating_add(CLOCKS_APART);

/// The time until the other nodes know the interests of this one again.
const SETTLES: Duration = Duration::from_secs(5);

/// The time since which events may be lost, until it is taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loss(Option<Timestamp>);

impl Loss {
    /// Records a loss since then; the earliest one counts.
    pub fn record(&mut self, since: Timestamp) {
        self.0 = Some(self.0.map_or(since, |earlier| earlier.min(since)));
    }

    /// The time of the loss; `None` until the next one.
    pub fn take(&mut self) -> Option<Timestamp> {
        self.0.take()
    }
}

/// The period that must be read from the store because events may be lost.
#[derive(Debug, Default)]
pub struct ResyncPeriod(Option<Open>);

#[derive(Clone, Copy, Debug)]
struct Open {
    since: Timestamp,
    until: Timestamp,
}

impl ResyncPeriod {
    /// Records that events between `since` and `now` may be lost.
    pub fn lost(&mut self, since: Timestamp, now: Timestamp) {
        let (since, until) = (since.minus(UNNOTICED), now.plus(SETTLES));
        self.0 = Some(match self.0 {
            Some(open) => Open { since: open.since.min(since), until: open.until.max(until) },
            None => Open { since, until },
        });
    }

    /// The beginning of the period that is not known completely; `None` if there is none.
    pub fn due(&self) -> Option<Timestamp> {
        self.0.map(|open| open.since)
    }

    /// Records that all changes since `read_since` were read, in a read that began at `begun`.
    pub fn record_read(&mut self, read_since: Timestamp, begun: Timestamp) {
        let Some(open) = &mut self.0 else { return };
        if open.since < read_since {
            // An older loss was recorded meanwhile.
            return;
        }
        if begun > open.until {
            self.0 = None;
        } else {
            // Changes of that time may not have been visible yet.
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
        let mut period = ResyncPeriod::default();
        assert_eq!(period.due(), None);
        period.lost(at(100), at(101));
        assert_eq!(period.due(), Some(at(10)));
        period.record_read(at(10), at(102));
        assert_eq!(period.due(), Some(at(12)), "more may be lost");
        // The link is down for long.
        period.lost(at(102), at(1_000));
        assert_eq!(period.due(), Some(at(12)));
        period.record_read(at(12), at(1_001));
        assert_eq!(period.due(), Some(at(911)));
        period.record_read(at(911), at(1_006));
        assert_eq!(period.due(), None);
    }

    #[test]
    fn of_several_losses_the_earliest_counts_once() {
        let mut loss = Loss::default();
        for since in [7, 5, 6] {
            loss.record(at(since));
        }
        assert_eq!((loss.take(), loss.take()), (Some(at(5)), None));
    }

    #[test]
    fn an_older_loss_that_is_heard_of_late_is_looked_up() {
        let mut period = ResyncPeriod::default();
        period.lost(at(100), at(100));
        period.lost(at(50), at(101));
        period.record_read(at(10), at(200));
        assert_eq!(period.due(), Some(at(-40)));
        period.record_read(at(-40), at(201));
        assert_eq!(period.due(), None);
    }
}
