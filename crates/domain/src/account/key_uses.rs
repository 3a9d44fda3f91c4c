//! When keys were used, until that is written down.
//!
//! A request only notes it here; the store hears of it in batches, off the path of requests. What was
//! written a moment ago is not noted again, so that a busy key costs a write a minute.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::key::StoredKey;
use super::key_port::KeyUse;
use super::service::AccountService;
use crate::id::ApiKeyId;
use crate::store::StoreError;
use crate::time::Timestamp;

/// By how much the last use that is written down may lie before the real one.
pub const USE_RESOLUTION: Duration = Duration::from_secs(60);

/// How many uses are written at a time.
const WRITTEN_AT_ONCE: usize = 500;

/// The last use of every key that is to be written down.
#[derive(Default)]
pub(super) struct KeyUses(Mutex<HashMap<ApiKeyId, Timestamp>>);

impl KeyUses {
    /// A key was used; whether that is to be written down.
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
    /// Writes down which keys were used since the last time; to be called every few seconds, and at the
    /// end. What cannot be written is tried again with the next call.
    pub async fn write_key_uses(&self) -> Result<(), StoreError> {
        let mut uses = self.uses.take();
        while !uses.is_empty() {
            let batch = uses.split_off(uses.len().saturating_sub(WRITTEN_AT_ONCE));
            if let Err(error) = self.keys.note_uses(batch.clone()).await {
                batch.into_iter().chain(uses).for_each(|one| self.uses.put(one));
                return Err(error);
            }
        }
        Ok(())
    }
}
