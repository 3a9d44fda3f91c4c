//! Deduplicates events of other nodes by node and number.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::id::NodeId;
use crate::time::Timestamp;

/// The size of a page, in words of 64 events.
const WORDS: usize = 64;
const PAGE: u64 = 64 * 64;

/// The number of pages per node: a million events (2^20), and the page that is being filled. A node
/// sends as many in the minute for which a message is accepted, at 17,000 a second over all
/// subjects: one subject may be delayed by that much.
const PAGES: u64 = 256 + 1;

/// How long a node is remembered after its last event.
const REMEMBERED: Duration = Duration::from_secs(10 * 60);

/// The events of other nodes that have arrived.
#[derive(Debug, Default)]
pub struct Seen {
    nodes: HashMap<NodeId, Window>,
}

#[derive(Debug)]
struct Window {
    /// The first stored page.
    first: u64,
    /// One bit per number; empty pages are absent.
    pages: BTreeMap<u64, Page>,
    at: Timestamp,
}

type Page = Box<[u64; WORDS]>;

impl Seen {
    /// Records an event; returns whether it is the first time. An event that is too late to decide
    /// counts as repeated.
    pub fn is_first(&mut self, from: NodeId, number: u64, now: Timestamp) -> bool {
        if !self.nodes.contains_key(&from) {
            self.nodes.retain(|_, window| window.at.plus(REMEMBERED) > now);
        }
        let empty = || Window { first: 0, pages: BTreeMap::new(), at: now };
        let window = self.nodes.entry(from).or_insert_with(empty);
        window.at = now;
        window.take(number)
    }
}

impl Window {
    fn take(&mut self, number: u64) -> bool {
        let (page, offset) = (number / PAGE, number % PAGE);
        if page < self.first {
            return false;
        }
        if page >= self.first + PAGES {
            self.first = page + 1 - PAGES;
            self.pages = self.pages.split_off(&self.first);
        }
        let (word, bit) = (usize::try_from(offset / 64).unwrap_or(0), 1 << (offset % 64));
        let came = &mut self.pages.entry(page).or_insert_with(|| Box::new([0; WORDS]))[word];
        let is_first = *came & bit == 0;
        *came |= bit;
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const ONE: NodeId = NodeId::new(Uuid::from_u128(1));
    const TWO: NodeId = NodeId::new(Uuid::from_u128(2));

    #[test]
    fn what_comes_twice_is_taken_once_in_any_order() {
        let (mut seen, now) = (Seen::default(), Timestamp::from_micros(0));
        let mut came = |node, number| seen.is_first(node, number, now);
        for number in [5, 3, 4, 70, 6, 4_100, 10, 0, 4_095, 4_096] {
            assert!(came(ONE, number), "{number}");
            assert!(!came(ONE, number), "{number} again");
        }
        assert!(came(TWO, 5), "numbers are those of one node");
        assert!(came(ONE, u64::MAX) && came(ONE, u64::MAX - 1) && !came(ONE, u64::MAX));
        assert!(!came(ONE, 7), "nobody can tell any more");
    }

    /// One subject is idle while a million events are queued on another.
    #[test]
    fn a_subject_that_is_late_is_not_taken_for_a_repetition() {
        let (mut seen, now) = (Seen::default(), Timestamp::from_micros(0));
        let mut came = |number| seen.is_first(ONE, number, now);
        let ahead = 1 << 20;
        for late in 1..10_000 {
            assert!(came(ahead + late), "{late}");
            assert!(came(late), "{late} comes a million later");
            assert!(!came(late) && !came(ahead + late), "{late} again");
        }
    }

    #[test]
    fn memory_is_only_for_what_came_and_bounded() {
        let (mut seen, now) = (Seen::default(), Timestamp::from_micros(0));
        for number in 1..=1_000 {
            seen.is_first(ONE, 1_000_000 * 1_000 + number, now);
        }
        assert_eq!(seen.nodes[&ONE].pages.len(), 1);
        for number in 0..10_000 {
            seen.is_first(TWO, number * PAGE, now);
        }
        assert_eq!(seen.nodes[&TWO].pages.len(), 257, "128 kB");
    }

    #[test]
    fn nodes_that_are_silent_are_forgotten() {
        let mut seen = Seen::default();
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        seen.is_first(ONE, 1, at(0));
        seen.is_first(TWO, 1, at(600));
        assert_eq!(seen.nodes.len(), 1);
    }
}
