//! A bounded map from keys to instants of expiry.
//!
//! An expired key counts as absent. When a shard is full, expired keys are removed first, then the
//! quarter that expires soonest, which bounds the cost of a flood of keys.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::time::Timestamp;

/// The number of shards, each with its own lock.
const SHARDS: usize = 16;

/// The capacity of a shard; 65,536 keys in all, some three megabytes.
const SHARD_KEYS: usize = 4096;

/// The map; see the module.
pub(super) struct ExpiringMap {
    shards: [Mutex<HashMap<u128, Timestamp>>; SHARDS],
    hasher: RandomState,
}

impl ExpiringMap {
    pub(super) fn new() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()), hasher: RandomState::new() }
    }

    /// Passes the instant of a key to `decide`, and stores the one that it returns; `None` changes nothing.
    pub(super) fn change<R>(
        &self,
        key: u128,
        now: Timestamp,
        decide: impl FnOnce(Option<Timestamp>) -> (Option<Timestamp>, R),
    ) -> R {
        let mut shard = self.shard(key);
        let until = shard.get(&key).copied();
        let (next, result) = decide(until);
        if let Some(next) = next {
            if until.is_none() {
                make_room(&mut shard, now);
            }
            shard.insert(key, next);
        }
        result
    }

    /// Stores a key until `until`.
    pub(super) fn keep(&self, key: u128, until: Timestamp, now: Timestamp) {
        self.change(key, now, |_| (Some(until), ()));
    }

    /// Returns whether a key is stored and has not expired.
    pub(super) fn holds(&self, key: u128, now: Timestamp) -> bool {
        self.shard(key).get(&key).is_some_and(|until| *until > now)
    }

    /// Removes a key.
    pub(super) fn forget(&self, key: u128) {
        self.shard(key).remove(&key);
    }

    fn shard(&self, key: u128) -> MutexGuard<'_, HashMap<u128, Timestamp>> {
        // The random seed keeps clients from choosing keys of one shard.
        let part = usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or(0);
        self.shards[part].lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap().len()).sum()
    }
}

fn make_room(shard: &mut HashMap<u128, Timestamp>, now: Timestamp) {
    if shard.len() < SHARD_KEYS {
        return;
    }
    shard.retain(|_, until| *until > now);
    if shard.len() <= SHARD_KEYS * 3 / 4 {
        return;
    }
    let mut instants = shard.values().copied().collect::<Vec<_>>();
    let quarter = instants.len() / 4;
    let (_, threshold, _) = instants.select_nth_unstable(quarter);
    let threshold = *threshold;
    // Of several with the same instant some go and some stay.
    let mut surplus = quarter + 1;
    shard.retain(|_, until| {
        let goes = *until <= threshold && surplus > 0;
        surplus -= usize::from(goes);
        !goes
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(0).plus(Duration::from_secs(seconds))
    }

    #[test]
    fn a_key_matters_until_its_instant() {
        let memory = ExpiringMap::new();
        memory.keep(1, at(10), at(0));
        assert!(memory.holds(1, at(9)) && !memory.holds(1, at(10)) && !memory.holds(2, at(0)));
        memory.forget(1);
        assert!(!memory.holds(1, at(0)));
    }

    #[test]
    fn a_million_keys_take_the_room_of_a_few_and_push_out_the_soonest_first() {
        let memory = ExpiringMap::new();
        memory.keep(u128::MAX, at(9999), at(0));
        for key in 0..1_000_000_u128 {
            memory.keep(key, at(1), at(0));
        }
        assert!(memory.len() <= SHARDS * SHARD_KEYS, "{}", memory.len());
        assert!(memory.len() > SHARDS * SHARD_KEYS / 2, "{}", memory.len());
        assert!(memory.holds(u128::MAX, at(5)), "what matters longest stays");
    }

    #[test]
    fn what_does_not_matter_any_more_goes_first() {
        let memory = ExpiringMap::new();
        for key in 0..500_000_u128 {
            memory.keep(key, at(1), at(0));
        }
        for key in 500_000..530_000_u128 {
            memory.keep(key, at(9), at(2));
        }
        let held = (500_000..530_000_u128).filter(|key| memory.holds(*key, at(3))).count();
        assert_eq!(held, 30_000);
    }
}
