//! When a delivery is tried again. Pure.

use std::time::Duration;

use crate::id::RecordId;

const fn minutes(number: u64) -> Duration {
    Duration::from_secs(number * 60)
}

/// The pauses after the first requests; the last one is repeated.
const DELAYS: [Duration; 8] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    minutes(2),
    minutes(10),
    minutes(30),
    minutes(60),
    minutes(120),
    minutes(240),
];

/// The shortest pause, whatever the receiver asks for.
pub(super) const SHORTEST: Duration = DELAYS[0];

/// The longest pause, whatever the receiver asks for.
pub(super) const LONGEST: Duration = minutes(24 * 60);

/// After this time the log says that a delivery fails.
pub const OVERDUE_AFTER: Duration = minutes(24 * 60);

/// How long a lease lasts. A sender renews it several times meanwhile.
pub const LEASE: Duration = Duration::from_secs(15);

/// How soon a delivery is looked at again whose agent is stopped.
pub const HALTED_PAUSE: Duration = Duration::from_secs(30);

/// How soon one is looked at again whose agent works on the message, although its request was lost.
pub(super) const WORKING_PAUSE: Duration = Duration::from_secs(5);

/// The pause after this number of requests: up to a fifth longer than the usual one, depending on the id of what is sent, so
/// that what has failed together is not repeated together.
pub(super) fn retry_delay(id: RecordId, attempts: u32) -> Duration {
    let index = usize::try_from(attempts.saturating_sub(1)).unwrap_or(usize::MAX).min(DELAYS.len() - 1);
    let (_, low) = id.uuid().as_u64_pair();
    let part =
        u32::try_from((low ^ u64::from(attempts)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56).unwrap_or(0);
    DELAYS[index] + DELAYS[index] * part / (255 * 5)
}

/// The number of requests that the next pause follows, of all that were made, if they began this long ago. What starts over
/// counts its requests on, and begins with the shortest pause again.
pub(super) fn in_a_row(attempts: u32, began: Duration) -> u32 {
    let mut sum = Duration::ZERO;
    let passed = DELAYS.iter().map_while(|delay| {
        sum += *delay;
        (sum <= began).then_some(())
    });
    attempts.min(u32::try_from(passed.count()).unwrap_or(u32::MAX).saturating_add(1))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn pauses_grow_from_seconds_to_hours() {
        let mut sum = Duration::ZERO;
        for attempt in 1..=30 {
            let delay = retry_delay(RecordId::NIL, attempt);
            let usual = DELAYS[(attempt as usize - 1).min(DELAYS.len() - 1)];
            assert!(usual <= delay && delay <= usual * 6 / 5, "{attempt}: {delay:?}");
            sum += delay;
        }
        assert!(sum > OVERDUE_AFTER);
        assert_eq!(retry_delay(RecordId::NIL, 0).as_secs(), 5, "an impossible number does not panic");
    }

    #[test]
    fn what_starts_over_pauses_as_at_first() {
        let seconds = Duration::from_secs;
        for (attempts, began, expected) in
            [(1, 0, 1), (2, 4, 1), (2, 5, 2), (9, 34, 2), (9, 35, 3), (2, 1 << 20, 2), (99, 1 << 20, 9)]
        {
            assert_eq!(in_a_row(attempts, seconds(began)), expected, "{attempts} after {began} s");
        }
        let mut began = Duration::ZERO;
        for attempt in 1..=8 {
            assert_eq!(in_a_row(attempt, began), attempt);
            began += retry_delay(RecordId::NIL, attempt);
        }
    }

    #[test]
    fn deliveries_are_spread() {
        let delays = (0..200_u128).map(|number| {
            retry_delay(RecordId::new(Uuid::from_u128(number.wrapping_mul(0x1234_5678_9ABC_DEF1))), 4)
        });
        let different = delays.collect::<std::collections::BTreeSet<_>>();
        assert!(different.len() > 50, "{}", different.len());
    }
}
