//! Leases of nodes, and the conditions for clearing others.

use std::time::{Duration, Instant};

/// How long a lease holds unless it is renewed. With [`CLEARED_EVERY`] and the polling of the log,
/// a dead node is cleared everywhere within fifteen seconds.
pub const LEASE: Duration = Duration::from_secs(12);

/// The interval of renewals.
pub const RENEWED_EVERY: Duration = Duration::from_secs(3);

/// The interval of searches for expired leases of others.
pub const CLEARED_EVERY: Duration = Duration::from_secs(1);

/// The maximum time from the death of a node until it is cleared.
pub const CLEARED_WITHIN: Duration = LEASE.saturating_add(CLEARED_EVERY);

/// How long a user or agent counts as present after the connection broke, so that a return to any
/// node is no change; also the lease of a node that shuts down gracefully.
pub const GRACE: Duration = Duration::from_secs(10);

/// How long a node must have reached the store before it clears others: after an outage of the
/// store all leases have expired, and every node needs time to renew its own.
const SETTLED_AFTER: Duration = Duration::from_secs(6);

/// A longer time between two renewals means that the node itself, or the store, was away.
const MAX_RENEWAL_GAP: Duration = Duration::from_secs(5);

/// How long the lease of a node must still hold when it clears others: it was renewed a moment ago.
pub const MIN_REMAINING_LEASE: Duration = Duration::from_secs(7);

/// The time since which a node has reached the store without interruption.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoreContinuity {
    since: Option<Instant>,
    last: Option<Instant>,
}

impl StoreContinuity {
    /// Records a renewal.
    pub fn renewed(&mut self, now: Instant) {
        let was_interrupted = !self.is_fresh(now);
        self.since = self.since.filter(|_| !was_interrupted).or(Some(now));
        self.last = Some(now);
    }

    /// Records that the store did not answer.
    pub fn lost(&mut self) {
        *self = Self::default();
    }

    /// Returns whether it may clear nodes with expired leases.
    pub fn may_clear(&self, now: Instant) -> bool {
        let is_settled = self.since.is_some_and(|since| now.duration_since(since) >= SETTLED_AFTER);
        is_settled && self.is_fresh(now)
    }

    fn is_fresh(&self, now: Instant) -> bool {
        self.last.is_some_and(|last| now.duration_since(last) <= MAX_RENEWAL_GAP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_node_is_cleared_within_fifteen_seconds() {
        // The lease was just renewed, a search just missed it, and the log is read half a second
        // later.
        let at_worst = CLEARED_WITHIN + Duration::from_millis(500);
        assert!(at_worst <= Duration::from_secs(14));
        // Two renewals may be lost.
        assert!(RENEWED_EVERY * 3 < LEASE);
        assert!(RENEWED_EVERY < MAX_RENEWAL_GAP && RENEWED_EVERY * 2 <= SETTLED_AFTER);
        assert_eq!(MIN_REMAINING_LEASE + MAX_RENEWAL_GAP, LEASE);
    }

    /// Renews every three seconds from `begun` on, `times` times.
    fn renewed(contact: &mut StoreContinuity, begun: Instant, times: u32) -> Instant {
        let mut now = begun;
        for number in 0..times {
            now = begun + RENEWED_EVERY * number;
            contact.renewed(now);
        }
        now
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "an instant has no other constructor; its value does not matter"
    )]
    fn who_was_away_gives_others_time_to_come_back() {
        let begun = Instant::now();
        let mut contact = StoreContinuity::default();
        assert!(!contact.may_clear(begun));
        let now = renewed(&mut contact, begun, 2);
        assert!(!contact.may_clear(now), "it has only just begun");
        let now = renewed(&mut contact, begun, 3);
        assert!(contact.may_clear(now));

        contact.lost();
        assert!(!contact.may_clear(now), "the store was away, for all perhaps");
        let now = renewed(&mut contact, now, 2);
        assert!(!contact.may_clear(now));
        let now = renewed(&mut contact, now, 2);
        assert!(contact.may_clear(now));

        // The process or its machine was suspended, without any notification.
        let later = now + Duration::from_secs(60);
        assert!(!contact.may_clear(later), "also before the next renewal");
        contact.renewed(later);
        assert!(!contact.may_clear(later));
        let now = renewed(&mut contact, later, 3);
        assert!(contact.may_clear(now));
    }
}
