//! A bounded read-through cache whose invalidation cannot be undone by a concurrent read.
//!
//! A miss returns a ticket; the caller reads the store and puts the value in with that ticket. An
//! invalidation in between makes the ticket void, since the read may not have seen the change.
//! Everything happens under the lock of a shard, which is held only for single map operations; hits
//! share a read lock.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The number of shards, each with its own lock.
const SHARDS: usize = 16;

/// The cache; see the module.
pub(super) struct ReadThroughCache<K, V> {
    shards: [RwLock<Shard<K, V>>; SHARDS],
    hasher: RandomState,
    /// The maximum number of entries of a young generation.
    generation: usize,
    /// Whether a value is small enough to be cached.
    fits: fn(&V) -> bool,
}

/// Entries in two generations. When the young generation is full, it replaces the old one, whose
/// entries are evicted.
struct Shard<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    /// The number of invalidations.
    changes: u64,
}

impl<K, V> Default for Shard<K, V> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), changes: 0 }
    }
}

/// The state of a shard before a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ticket(u64);

impl<K: Eq + Hash, V> ReadThroughCache<K, V> {
    /// A cache for so many entries.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            shards: std::array::from_fn(|_| RwLock::default()),
            hasher: RandomState::new(),
            generation: (capacity / SHARDS / 2).max(1),
            fits: |_| true,
        }
    }

    /// Values that do not fit are not cached.
    pub(super) fn with_limit(self, fits: fn(&V) -> bool) -> Self {
        Self { fits, ..self }
    }

    /// Applies `see` to the entry, if there is one. The ticket is for putting in a value that is read now.
    pub(super) fn look<R>(&self, key: &K, see: impl FnOnce(&V) -> Option<R>) -> (Option<R>, Ticket) {
        let shard = self.read(key);
        let found = shard.young.get(key).or_else(|| shard.old.get(key));
        (found.and_then(see), Ticket(shard.changes))
    }

    /// Puts in a value that was read after the ticket was given, unless the shard was invalidated
    /// since, or the value does not fit.
    pub(super) fn put(&self, ticket: Ticket, key: K, value: V) {
        if !(self.fits)(&value) {
            return;
        }
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

    /// Invalidates one entry.
    pub(super) fn forget(&self, key: &K) {
        let mut shard = self.write(key);
        shard.changes += 1;
        shard.young.remove(key);
        shard.old.remove(key);
    }

    /// Invalidates the entries that match, and all tickets, since matching values may just be being read.
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

    fn read_through() -> ReadThroughCache<u32, u32> {
        ReadThroughCache::new(64)
    }

    fn found(read_through: &ReadThroughCache<u32, u32>, key: u32) -> Option<u32> {
        read_through.look(&key, |value| Some(*value)).0
    }

    fn put(read_through: &ReadThroughCache<u32, u32>, key: u32, value: u32) {
        let (_, ticket) = read_through.look(&key, |_| None::<()>);
        read_through.put(ticket, key, value);
    }

    #[test]
    fn entries_are_found_until_they_are_invalidated() {
        let read_through = read_through();
        put(&read_through, 1, 10);
        put(&read_through, 2, 20);
        assert_eq!(
            (found(&read_through, 1), found(&read_through, 2), found(&read_through, 3)),
            (Some(10), Some(20), None)
        );
        put(&read_through, 1, 11);
        assert_eq!(found(&read_through, 1), Some(11));
        read_through.forget(&1);
        assert_eq!((found(&read_through, 1), found(&read_through, 2)), (None, Some(20)));
        put(&read_through, 3, 30);
        read_through.forget_all(|value| *value == 20);
        assert_eq!((found(&read_through, 2), found(&read_through, 3)), (None, Some(30)));
    }

    #[test]
    fn a_ticket_is_void_after_an_invalidation() {
        let changes: [fn(&ReadThroughCache<u32, u32>); 2] =
            [|read_through| read_through.forget(&1), |read_through| read_through.forget_all(|_| false)];
        for change in changes {
            let read_through = read_through();
            let (_, before) = read_through.look(&1, |_| None::<()>);
            change(&read_through);
            read_through.put(before, 1, 10);
            assert_eq!(found(&read_through, 1), None);
            let (_, after) = read_through.look(&1, |_| None::<()>);
            read_through.put(after, 1, 10);
            assert_eq!(found(&read_through, 1), Some(10));
        }
    }

    #[test]
    fn the_capacity_is_bounded_and_used_entries_stay() {
        let read_through = read_through();
        let mut lost = 0;
        for key in 0..10_000 {
            put(&read_through, key, key);
            if found(&read_through, 0).is_none() {
                lost += 1;
                put(&read_through, 0, 0);
            }
            assert!(read_through.len() <= 64, "{}", read_through.len());
        }
        assert!(lost < 1_000, "asked for again {lost} times");
        assert_eq!(found(&read_through, 9_999), Some(9_999), "the newest is there");
        assert_eq!(found(&read_through, 1), None);
    }
}
