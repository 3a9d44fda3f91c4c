//! The flags of a work item. Pure.

use std::time::Duration;

use crate::delivery::{AttemptStatus, Delivery, DeliveryStatus};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// The reason why a work item needs attention.
    WorkFlag {
        /// Nothing was begun for too long.
        Unanswered = "unanswered",
        /// The open attempt takes too long.
        Stuck = "stuck",
        /// Too many attempts in a row have failed.
        Failing = "failing",
        /// It is not offered any more, and no other message replaces it.
        Dead = "dead",
        /// It is held by a limit, and somebody must decide whether it is offered.
        Held = "held",
    }
}

/// The thresholds of the flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkThresholds {
    /// The time after which a message whose processing has not begun is unanswered.
    pub unanswered_after: Duration,
    /// The time after which an open attempt is stuck.
    pub stuck_after: Duration,
    /// The number of failed attempts in a row that make an item failing; less than
    /// [`SHOWN_ATTEMPTS`](crate::delivery::SHOWN_ATTEMPTS), since no more are read.
    pub failing_attempts: u32,
}

impl Default for WorkThresholds {
    /// Five minutes, a quarter of an hour, three attempts.
    fn default() -> Self {
        Self {
            unanswered_after: Duration::from_secs(300),
            stuck_after: Duration::from_secs(900),
            failing_attempts: 3,
        }
    }
}

/// The thresholds of the flags at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlagBounds {
    /// What was offered at this time or before, and not begun, is unanswered.
    pub unanswered: Timestamp,
    /// What was begun at this time or before, and not ended, is stuck.
    pub stuck: Timestamp,
    /// The number of failed attempts in a row that make an item failing.
    pub failing: u32,
}

impl WorkThresholds {
    /// The thresholds at `now`.
    pub fn at(self, now: Timestamp) -> FlagBounds {
        FlagBounds {
            unanswered: now.minus(self.unanswered_after),
            stuck: now.minus(self.stuck_after),
            failing: self.failing_attempts,
        }
    }

    /// The flags of a delivery of a message that was written at `written_at`. Since a restart, it counts as
    /// written then.
    pub fn flags(self, delivery: &Delivery, written_at: Timestamp, now: Timestamp) -> Vec<WorkFlag> {
        let bounds = self.at(now);
        let holds = |flag: &WorkFlag| match flag {
            WorkFlag::Unanswered => {
                let waits = matches!(delivery.status(), DeliveryStatus::New | DeliveryStatus::Delivered);
                let offered_at = delivery.restart().map_or(written_at, |restart| restart.at.max(written_at));
                waits && offered_at <= bounds.unanswered
            }
            WorkFlag::Stuck => {
                let open = delivery.attempts().last().filter(|newest| newest.completed_at().is_none());
                open.is_some_and(|open| open.started_at <= bounds.stuck)
            }
            WorkFlag::Failing => {
                let is_open = !matches!(
                    delivery.status(),
                    DeliveryStatus::Processed | DeliveryStatus::Dead | DeliveryStatus::Held
                );
                is_open && failures_in_a_row(delivery) >= bounds.failing
            }
            WorkFlag::Dead => delivery.status() == DeliveryStatus::Dead && delivery.replaced_by().is_none(),
            WorkFlag::Held => delivery.status() == DeliveryStatus::Held,
        };
        WorkFlag::ALL.into_iter().filter(holds).collect()
    }
}

/// The number of attempts that failed one after the other since the delivery was last offered as if it
/// were new, up to now. An open attempt does not count, and does not end the row; an attempt that
/// another one superseded has failed.
pub fn failures_in_a_row(delivery: &Delivery) -> u32 {
    let counted = delivery.attempts().iter().rev().take_while(|attempt| delivery.counts(attempt));
    let closed = counted.map(crate::delivery::Attempt::status);
    let closed = closed.skip_while(|status| *status == AttemptStatus::Processing);
    let failed = closed.take_while(|status| *status == AttemptStatus::Failed).count();
    u32::try_from(failed).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::delivery::FailureText;
    use crate::id::AgentId;

    /// What happened to a delivery, in minutes after its message.
    #[derive(Clone, Copy)]
    enum Step {
        Taken(u64),
        Begun(u64),
        Failed(u64),
        Done(u64),
    }
    use Step::{Begun, Done, Failed, Taken};

    fn minute(number: u64) -> Timestamp {
        Timestamp::from_micros(0).plus(Duration::from_secs(60 * number))
    }

    fn after(steps: &[Step]) -> Delivery {
        let error = FailureText::new("it did not work".to_owned()).unwrap();
        let new = Delivery::new(AgentId::new(Uuid::from_u128(1)));
        steps.iter().fold(new, |delivery, step| match *step {
            Taken(at) => delivery.delivered(minute(at)),
            Begun(at) => delivery.begin_attempt(minute(at)),
            Failed(at) => delivery.fail(&error, minute(at)).unwrap(),
            Done(at) => delivery.succeed(minute(at)).unwrap(),
        })
    }

    #[test]
    fn flags_follow_from_the_record_and_the_time() {
        use WorkFlag::{Failing, Stuck, Unanswered};
        let cases: &[(&[Step], u64, &[WorkFlag])] = &[
            (&[], 4, &[]),
            (&[], 5, &[Unanswered]),
            (&[Taken(1)], 4, &[]),
            // The age of the message counts, not that of the mark.
            (&[Taken(4)], 5, &[Unanswered]),
            (&[Begun(1)], 15, &[]),
            (&[Begun(1)], 16, &[Stuck]),
            (&[Begun(1), Done(2)], 100, &[]),
            (&[Begun(1), Failed(2)], 100, &[]),
            (&[Begun(1), Failed(2), Begun(3), Failed(4)], 100, &[]),
            (&[Begun(1), Failed(2), Begun(3), Failed(4), Begun(5), Failed(6)], 7, &[Failing]),
            // The fourth attempt may succeed; until then it is one that fails, and may be stuck as well.
            (&[Begun(1), Begun(2), Begun(3), Begun(4)], 5, &[Failing]),
            (&[Begun(1), Begun(2), Begun(3), Begun(4)], 19, &[Stuck, Failing]),
            (&[Begun(1), Begun(2), Begun(3)], 5, &[]),
            (&[Begun(1), Begun(2), Begun(3), Begun(4), Done(5)], 100, &[]),
            // A success ends the row.
            (&[Begun(1), Failed(1), Begun(2), Done(2), Begun(3), Failed(3), Begun(4), Failed(4)], 9, &[]),
        ];
        for (number, (steps, now, expected)) in cases.iter().enumerate() {
            let flags = WorkThresholds::default().flags(&after(steps), minute(0), minute(*now));
            assert_eq!(flags, *expected, "case {number}");
        }
    }

    #[test]
    fn failures_are_counted_from_the_newest_attempt_that_has_ended() {
        for (steps, expected) in [
            (&[][..], 0),
            (&[Begun(1)], 0),
            (&[Begun(1), Failed(2)], 1),
            (&[Begun(1), Failed(2), Begun(3)], 1),
            (&[Begun(1), Begun(2), Failed(3)], 2),
            (&[Begun(1), Failed(1), Begun(2), Done(2), Begun(3)], 0),
            (&[Begun(1), Done(1), Begun(2), Failed(2)], 1),
        ] {
            assert_eq!(failures_in_a_row(&after(steps)), expected);
        }
    }
}
