//! Aggregates frequent events for reports: the first one is due at once, and later ones once a
//! minute, with their number.
//!
//! The number of keys is bounded, and each stays for a minute after its report; so at most that
//! many reports are due per minute, even if keys are forged. Other events are counted together.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::time::Timestamp;

/// The interval between two reports of a key.
pub const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// Counts by key; see the module. All times are steady.
pub struct Tally<K, V> {
    most: usize,
    counters: Mutex<Counters<K, V>>,
}

struct Counters<K, V> {
    by_key: HashMap<K, Counter<V>>,
    others: u64,
    others_reported_at: Option<Timestamp>,
}

struct Counter<V> {
    /// The last counted event.
    latest: V,
    count: u64,
    reported_at: Option<Timestamp>,
}

/// The reports that are due.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reportable<V> {
    /// The last event of each key, with the number of events.
    pub each: Vec<(V, u64)>,
    /// The number of events with keys beyond the capacity.
    pub others: u64,
}

impl<V> Reportable<V> {
    /// Returns whether nothing is due.
    pub fn is_empty(&self) -> bool {
        self.each.is_empty() && self.others == 0
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Tally<K, V> {
    /// A tally for so many keys.
    pub fn new(most: usize) -> Self {
        let counters = Counters { by_key: HashMap::new(), others: 0, others_reported_at: None };
        Self { most, counters: Mutex::new(counters) }
    }

    /// Counts `count` events.
    pub fn note(&self, key: K, latest: V, count: u64) {
        let mut counters = self.lock();
        let is_full = counters.by_key.len() >= self.most;
        if let Some(counter) = counters.by_key.get_mut(&key) {
            counter.latest = latest;
            counter.count += count;
        } else if is_full {
            counters.others += count;
        } else {
            counters.by_key.insert(key, Counter { latest, count, reported_at: None });
        }
    }

    /// Counts `count` events with keys beyond the capacity.
    pub fn note_others(&self, count: u64) {
        self.lock().others += count;
    }

    /// The reports that are due now; must be called about once a second.
    pub fn due(&self, now: Timestamp) -> Reportable<V> {
        let is_over =
            |reported_at: Option<Timestamp>| reported_at.is_none_or(|at| now >= at.plus(REPORT_INTERVAL));
        let mut counters = self.lock();
        let mut each = Vec::new();
        counters.by_key.retain(|_, counter| {
            if !is_over(counter.reported_at) {
                return true;
            }
            if counter.count == 0 {
                return false;
            }
            each.push((counter.latest.clone(), std::mem::take(&mut counter.count)));
            counter.reported_at = Some(now);
            true
        });
        let mut others = 0;
        if counters.others > 0 && is_over(counters.others_reported_at) {
            others = std::mem::take(&mut counters.others);
            counters.others_reported_at = Some(now);
        }
        Reportable { each, others }
    }

    /// All counts that were not reported yet, at the end.
    pub fn rest(&self) -> Reportable<V> {
        let mut counters = self.lock();
        let others = std::mem::take(&mut counters.others);
        let rest = counters.by_key.drain().filter(|(_, counter)| counter.count > 0);
        Reportable { each: rest.map(|(_, counter)| (counter.latest, counter.count)).collect(), others }
    }

    fn lock(&self) -> MutexGuard<'_, Counters<K, V>> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(0).plus(Duration::from_secs(seconds))
    }

    #[test]
    fn each_key_is_told_at_once_and_then_once_a_minute() {
        let tally = Tally::new(10);
        let note = |key: u32, times: u64| (0..times).for_each(|_| tally.note(key, key, 1));
        note(1, 1);
        assert_eq!(tally.due(at(0)).each, [(1, 1)]);
        let mut reported = Vec::new();
        for second in 1..=180 {
            note(1, 5);
            reported.extend(tally.due(at(second)).each.into_iter().map(|(_, count)| (second, count)));
        }
        assert_eq!(reported, [(60, 300), (120, 300), (180, 300)]);
        assert!(tally.due(at(240)).is_empty() && tally.due(at(241)).is_empty());
        note(1, 2);
        assert_eq!(tally.due(at(242)).each, [(1, 2)], "who was quiet for long is told at once");
        note(1, 3);
        assert_eq!(tally.rest().each, [(1, 3)]);
        assert!(tally.rest().is_empty());
    }

    #[test]
    fn no_more_keys_are_told_in_a_minute_than_there_is_room_for() {
        let tally = Tally::new(10);
        let (mut reported, mut others, mut lines) = (0, 0, 0);
        for second in 0..60 {
            for key in 0..1000_u64 {
                tally.note((second, key), key, 1);
            }
            let due = tally.due(at(second));
            reported += due.each.iter().map(|(_, count)| count).sum::<u64>();
            others += due.others;
            lines += due.each.len() + usize::from(due.others > 0);
        }
        assert_eq!((reported, lines), (10, 11));
        assert_eq!(reported + others + tally.rest().others, 60_000, "nothing is lost");
    }
}
