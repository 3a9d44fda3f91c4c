//! Telling once what comes twice.

use std::collections::HashMap;
use std::time::Duration;

use crate::id::NodeId;
use crate::time::Timestamp;

/// Of how many events of a node it is known whether they came, in words of 64.
const WORDS: usize = 64;
const WINDOW: u64 = 64 * 64;

/// How long a node is remembered after its last event.
const REMEMBERED: Duration = Duration::from_secs(10 * 60);

/// Which events of other nodes have come.
#[derive(Debug, Default)]
pub struct Seen {
    nodes: HashMap<NodeId, Window>,
}

#[derive(Debug)]
struct Window {
    newest: u64,
    /// One bit for each of the last numbers, at its place modulo their number.
    came: Vec<u64>,
    at: Timestamp,
}

impl Seen {
    /// An event has come: whether for the first time. What comes so late that nobody can tell has come.
    pub fn is_first(&mut self, from: NodeId, number: u64, now: Timestamp) -> bool {
        if !self.nodes.contains_key(&from) {
            self.nodes.retain(|_, window| window.at.plus(REMEMBERED) > now);
        }
        let empty = || Window { newest: number, came: vec![0; WORDS], at: now };
        let window = self.nodes.entry(from).or_insert_with(empty);
        window.at = now;
        window.take(number)
    }
}

impl Window {
    fn take(&mut self, number: u64) -> bool {
        if number > self.newest {
            if number - self.newest >= WINDOW {
                self.came.fill(0);
            } else {
                for passed in self.newest + 1..=number {
                    let (word, bit) = place(passed);
                    self.came[word] &= !bit;
                }
            }
            self.newest = number;
        } else if self.newest - number >= WINDOW {
            return false;
        }
        let (word, bit) = place(number);
        let is_first = self.came[word] & bit == 0;
        self.came[word] |= bit;
        is_first
    }
}

fn place(number: u64) -> (usize, u64) {
    let place = number % WINDOW;
    (usize::try_from(place / 64).unwrap_or(0), 1 << (place % 64))
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
        for number in [5, 3, 4, 70, 6, 4_100, 10] {
            assert!(came(ONE, number), "{number}");
            assert!(!came(ONE, number), "{number} again");
        }
        assert!(came(TWO, 5), "numbers are those of one node");
        assert!(!came(ONE, 4), "nobody can tell any more");
        assert!(came(ONE, 5 + 4_096), "its place was that of another before");
        assert!(came(ONE, 1_000_000) && came(ONE, 999_999) && !came(ONE, 4_100));
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
