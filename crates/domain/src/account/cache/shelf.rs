//! What was read, by key, in bounded room; what a change makes untrue is never put back by who read it before.
//!
//! Whoever finds nothing gets a ticket, reads, and puts in what was read. A change that was told in between makes
//! the ticket void: nobody can say whether the reader has seen it. All of it happens under the lock of a part, which
//! nobody holds for longer than a look; who finds something shares it with others who look.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The parts, each with its own lock.
const SHARDS: usize = 16;

/// Entries by key, see the module.
pub(super) struct Shelf<K, V> {
    shards: [RwLock<Shard<K, V>>; SHARDS],
    hasher: RandomState,
    /// The most entries of a young generation.
    generation: usize,
}

/// Entries in two generations. When the young one is full it becomes the old one, and what was old is forgotten; so
/// what is read again lives on, and nobody has to note who was looked at.
struct Shard<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    /// How many changes were told.
    changes: u64,
}

impl<K, V> Default for Shard<K, V> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), changes: 0 }
    }
}

/// What a part knew of changes before something was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ticket(u64);

impl<K: Eq + Hash, V> Shelf<K, V> {
    /// With room for so many entries.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            shards: std::array::from_fn(|_| RwLock::default()),
            hasher: RandomState::new(),
            generation: (capacity / SHARDS / 2).max(1),
        }
    }

    /// What `see` makes of an entry, if there is one; and the ticket to put in another.
    pub(super) fn look<R>(&self, key: &K, see: impl FnOnce(&V) -> Option<R>) -> (Option<R>, Ticket) {
        let shard = self.read(key);
        let found = shard.young.get(key).or_else(|| shard.old.get(key));
        (found.and_then(see), Ticket(shard.changes))
    }

    /// Puts in what was read after the ticket was given, unless a change was told since.
    pub(super) fn put(&self, ticket: Ticket, key: K, value: V) {
        let mut shard = self.write(&key);
        if ticket != Ticket(shard.changes) {
            return;
        }
        shard.old.remove(&key);
        shard.young.insert(key, value);
        if shard.young.len() >= self.generation {
            shard.old = std::mem::take(&mut shard.young);
        }
    }

    /// A change was told of this one.
    pub(super) fn forget(&self, key: &K) {
        let mut shard = self.write(key);
        shard.changes += 1;
        shard.young.remove(key);
        shard.old.remove(key);
    }

    /// A change was told of those that `is_meant` names, some of whom may just be read.
    pub(super) fn forget_all(&self, is_meant: impl Fn(&V) -> bool) {
        for shard in &self.shards {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            shard.changes += 1;
            shard.young.retain(|_, value| !is_meant(value));
            shard.old.retain(|_, value| !is_meant(value));
        }
    }

    fn read(&self, key: &K) -> RwLockReadGuard<'_, Shard<K, V>> {
        self.shards[self.part(key)].read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, key: &K) -> RwLockWriteGuard<'_, Shard<K, V>> {
        self.shards[self.part(key)].write().unwrap_or_else(PoisonError::into_inner)
    }

    fn part(&self, key: &K) -> usize {
        usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or(0)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let sizes = self.shards.iter().map(|shard| shard.read().unwrap());
        sizes.map(|shard| shard.young.len() + shard.old.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shelf() -> Shelf<u32, u32> {
        Shelf::new(64)
    }

    fn found(shelf: &Shelf<u32, u32>, key: u32) -> Option<u32> {
        shelf.look(&key, |value| Some(*value)).0
    }

    fn put(shelf: &Shelf<u32, u32>, key: u32, value: u32) {
        let (_, ticket) = shelf.look(&key, |_| None::<()>);
        shelf.put(ticket, key, value);
    }

    #[test]
    fn what_was_put_in_is_found_until_it_is_forgotten() {
        let shelf = shelf();
        put(&shelf, 1, 10);
        put(&shelf, 2, 20);
        assert_eq!((found(&shelf, 1), found(&shelf, 2), found(&shelf, 3)), (Some(10), Some(20), None));
        put(&shelf, 1, 11);
        assert_eq!(found(&shelf, 1), Some(11));
        shelf.forget(&1);
        assert_eq!((found(&shelf, 1), found(&shelf, 2)), (None, Some(20)));
        put(&shelf, 3, 30);
        shelf.forget_all(|value| *value == 20);
        assert_eq!((found(&shelf, 2), found(&shelf, 3)), (None, Some(30)));
    }

    #[test]
    fn what_was_read_before_a_change_is_not_put_in_after_it() {
        let changes: [fn(&Shelf<u32, u32>); 2] =
            [|shelf| shelf.forget(&1), |shelf| shelf.forget_all(|_| false)];
        for change in changes {
            let shelf = shelf();
            let (_, before) = shelf.look(&1, |_| None::<()>);
            change(&shelf);
            shelf.put(before, 1, 10);
            assert_eq!(found(&shelf, 1), None);
            let (_, after) = shelf.look(&1, |_| None::<()>);
            shelf.put(after, 1, 10);
            assert_eq!(found(&shelf, 1), Some(10));
        }
    }

    #[test]
    fn there_is_never_more_than_there_is_room_for_and_what_is_used_stays() {
        let shelf = shelf();
        let mut lost = 0;
        for key in 0..10_000 {
            put(&shelf, key, key);
            if found(&shelf, 0).is_none() {
                lost += 1;
                put(&shelf, 0, 0);
            }
            assert!(shelf.len() <= 64, "{}", shelf.len());
        }
        assert!(lost < 1_000, "asked for again {lost} times");
        assert_eq!(found(&shelf, 9_999), Some(9_999), "the newest is there");
        assert_eq!(found(&shelf, 1), None);
    }
}
