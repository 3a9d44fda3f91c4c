//! Buffers the last uses of keys, and writes them with those of [doors](super::door).
//!
//! A request only records the use here; batches are written to the store off the path of requests.
//! A recent use is not recorded again, so that a busy key costs one write per minute.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::key::StoredKey;
use super::key_port::KeyUse;
use super::service::AccountService;
use crate::id::ApiKeyId;
use crate::store::StoreError;
use crate::time::Timestamp;

/// The maximum delay between the stored and the real last use.
pub const USE_RESOLUTION: Duration = Duration::from_secs(60);

/// The number of uses per write.
const WRITTEN_AT_ONCE: usize = 500;

/// The last use of every key that is to be written.
#[derive(Default)]
pub(super) struct KeyUses(Mutex<HashMap<ApiKeyId, Timestamp>>);

impl KeyUses {
    /// Records a use of a key; returns whether it will be written.
    pub(super) fn note(&self, key: &StoredKey, now: Timestamp) -> bool {
        let is_news = key.last_used_at.is_none_or(|written| now >= written.plus(USE_RESOLUTION));
        if is_news {
            self.put(KeyUse { key: key.id, at: now });
        }
        is_news
    }

    fn put(&self, used: KeyUse) {
        let mut all = self.lock();
        let last = all.entry(used.key).or_insert(used.at);
        *last = (*last).max(used.at);
    }

    fn take(&self) -> Vec<KeyUse> {
        std::mem::take(&mut *self.lock()).into_iter().map(|(key, at)| KeyUse { key, at }).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ApiKeyId, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AccountService {
    /// Writes the uses of keys and doors since the last call; must be called every few seconds, and at the end. Uses
    /// that cannot be written are retried with the next call.
    pub async fn write_uses(&self) -> Result<(), StoreError> {
        let mut uses = self.uses.take();
        while !uses.is_empty() {
            let batch = last_of(&mut uses);
            if let Err(error) = self.keys.note_uses(batch.clone()).await {
                batch.into_iter().chain(uses).for_each(|one| self.uses.put(one));
                return Err(error);
            }
        }
        self.write_doors().await
    }
}

/// Takes as many uses as are written at once.
pub(super) fn last_of<T>(uses: &mut Vec<T>) -> Vec<T> {
    uses.split_off(uses.len().saturating_sub(WRITTEN_AT_ONCE))
}
