//! Removing files that have expired, and bytes without a record.
//!
//! The bytes go before the record: if the server stops in between, the record is still there, and the next sweep goes
//! on. Bytes without a record are what an upload has left that ended between the two.

use std::collections::HashSet;
use std::time::Duration;

use super::objects::{ObjectError, Shard};
use super::service::FileService;
use crate::id::FileId;
use crate::store::StoreError;
use crate::time::Timestamp;

/// The time from the expiry of a file to its removal: a server whose clock is late may still let a message show it.
pub const REMOVAL_DELAY: Duration = Duration::from_secs(60 * 60);

/// The age at which bytes without a record are removed; an upload may take at most half as long.
pub const ORPHAN_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The number of expired files that a step removes.
const STEP: u32 = 100;

/// The walk of one process through the bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct SweepWalk {
    next: u8,
}

/// The result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// The number of expired files that were removed.
    pub expired: usize,
    /// The number of bytes without a record that were removed.
    pub orphans: usize,
    /// Set if there are probably more expired files.
    pub has_more: bool,
}

/// The reason why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The store of the bytes failed.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The time of the making of an id, which it contains (UUID version 7).
pub(super) fn made_at(file: FileId) -> Timestamp {
    let millis = file.uuid().as_u128() >> 80;
    Timestamp::from_micros(i64::try_from(millis).unwrap_or(i64::MAX / 1000).saturating_mul(1000))
}

impl FileService {
    /// Prepares the store of the bytes when the server starts, and removes what uploads of earlier runs have left.
    pub async fn begin(&self) -> Result<(), ObjectError> {
        self.objects.begin().await
    }

    /// Removes some of the files that have expired, and the bytes without a record of the next shard.
    pub async fn sweep(&self, walk: &mut SweepWalk, now: Timestamp) -> Result<Swept, SweepError> {
        let before = now.minus(REMOVAL_DELAY);
        let expired = self.files.expired_files(before, STEP).await?;
        let has_more = expired.len() == STEP as usize;
        let (expired, failed) = self.remove_all(expired).await;
        let count = expired.len();
        if count > 0 {
            self.files.forget_files(expired, before).await?;
        }
        let shard = Shard(walk.next);
        walk.next = walk.next.wrapping_add(1);
        let orphans = self.sweep_shard(shard, now.minus(ORPHAN_AGE)).await?;
        // One that cannot be removed does not keep others.
        failed.map_or(Ok(Swept { expired: count, orphans, has_more }), |error| Err(error.into()))
    }

    async fn sweep_shard(&self, shard: Shard, before: Timestamp) -> Result<usize, SweepError> {
        let mut old = self.objects.list(shard).await?;
        old.retain(|file| made_at(*file) < before);
        let (mut removed, mut failed) = (0, None);
        for some in old.chunks(STEP as usize) {
            let recorded = self.files.recorded_files(some.to_vec()).await?;
            let recorded = recorded.into_iter().collect::<HashSet<_>>();
            let orphans = some.iter().filter(|file| !recorded.contains(file)).copied().collect();
            let (gone, error) = self.remove_all(orphans).await;
            removed += gone.len();
            failed = failed.or(error);
        }
        failed.map_or(Ok(removed), |error| Err(error.into()))
    }

    /// Removes the bytes of these files. Returns those that are gone, and the first failure.
    async fn remove_all(&self, files: Vec<FileId>) -> (Vec<FileId>, Option<ObjectError>) {
        let (mut gone, mut failed) = (Vec::with_capacity(files.len()), None);
        for file in files {
            match self.objects.remove(file).await {
                Ok(()) => gone.push(file),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        (gone, failed)
    }
}
