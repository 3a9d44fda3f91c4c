//! For how long a node is believed to live, and who may say that another does not.

use std::time::{Duration, Instant};

/// How long a lease holds unless it is renewed. With [`CLEARED_EVERY`] and the reading of the log a node that
/// died is cleared everywhere within fifteen seconds.
pub const LEASE: Duration = Duration::from_secs(12);

/// How often it is renewed.
pub const RENEWED_EVERY: Duration = Duration::from_secs(3);

/// How often a node looks for others whose lease is over.
pub const CLEARED_EVERY: Duration = Duration::from_secs(1);

/// So long before it is cleared a node died at most.
pub const CLEARED_WITHIN: Duration = LEASE.saturating_add(CLEARED_EVERY);

/// How long somebody whose connection broke counts as there, so that who comes back at once, on whichever node,
/// was never away; and so long holds the last lease of a node that ends in order.
pub const GRACE: Duration = Duration::from_secs(10);

/// For how long a node must have reached the store before it says of others that they did not: after an outage
/// of the store all leases are over, and everybody must have had time to renew theirs.
const SETTLED_AFTER: Duration = Duration::from_secs(6);

/// Longer than this between two renewals, and the node itself, or the store, was away.
const TORN: Duration = Duration::from_secs(5);

/// For how long the lease of a node must still hold when it clears others: it was renewed a moment ago.
pub const CLEARS_HOLDING: Duration = Duration::from_secs(7);

/// Since when a node has reached the store without a break.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Contact {
    since: Option<Instant>,
    last: Option<Instant>,
}

impl Contact {
    /// The lease was renewed.
    pub fn renewed(&mut self, now: Instant) {
        let is_torn = !self.is_fresh(now);
        self.since = self.since.filter(|_| !is_torn).or(Some(now));
        self.last = Some(now);
    }

    /// The store did not answer.
    pub fn lost(&mut self) {
        *self = Self::default();
    }

    /// Whether it may clear others whose lease is over.
    pub fn may_clear(&self, now: Instant) -> bool {
        let is_settled = self.since.is_some_and(|since| now.duration_since(since) >= SETTLED_AFTER);
        is_settled && self.is_fresh(now)
    }

    fn is_fresh(&self, now: Instant) -> bool {
        self.last.is_some_and(|last| now.duration_since(last) <= TORN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_node_is_cleared_within_fifteen_seconds() {
        // A lease that was just renewed, a look just missed, and the log is read half a second later.
        let at_worst = CLEARED_WITHIN + Duration::from_millis(500);
        assert!(at_worst <= Duration::from_secs(14));
        // Two renewals may be lost.
        assert!(RENEWED_EVERY * 3 < LEASE);
        assert!(RENEWED_EVERY < TORN && RENEWED_EVERY * 2 <= SETTLED_AFTER);
        assert_eq!(CLEARS_HOLDING + TORN, LEASE);
    }

    /// Renews every three seconds from `begun` on, so often.
    fn renewed(contact: &mut Contact, begun: Instant, times: u32) -> Instant {
        let mut now = begun;
        for number in 0..times {
            now = begun + RENEWED_EVERY * number;
            contact.renewed(now);
        }
        now
    }

    #[test]
    fn who_was_away_gives_others_time_to_come_back() {
        let begun = Instant::now();
        let mut contact = Contact::default();
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

        // The process was stopped, or its machine, and nothing told it.
        let later = now + Duration::from_secs(60);
        assert!(!contact.may_clear(later), "also before the next renewal");
        contact.renewed(later);
        assert!(!contact.may_clear(later));
        let now = renewed(&mut contact, later, 3);
        assert!(contact.may_clear(now));
    }
}
