//! Metrics of files.

use std::sync::LazyLock;

use metrics::{Counter, counter};

use crate::{FILE_BYTES, FILES_REMOVED};

static UPLOADED: LazyLock<Counter> = LazyLock::new(|| counter!(FILE_BYTES, "direction" => "upload"));
static DOWNLOADED: LazyLock<Counter> = LazyLock::new(|| counter!(FILE_BYTES, "direction" => "download"));
static EXPIRED: LazyLock<Counter> = LazyLock::new(|| counter!(FILES_REMOVED, "reason" => "expired"));
static ORPHANED: LazyLock<Counter> = LazyLock::new(|| counter!(FILES_REMOVED, "reason" => "without_record"));

/// Counts received bytes of a file.
pub fn uploaded(bytes: u64) {
    UPLOADED.increment(bytes);
}

/// Counts sent bytes of a file.
pub fn downloaded(bytes: u64) {
    DOWNLOADED.increment(bytes);
}

/// Counts files that were removed: expired ones, and bytes without a record.
pub fn files_removed(expired: u64, orphans: u64) {
    EXPIRED.increment(expired);
    ORPHANED.increment(orphans);
}

pub(crate) fn begin() {
    for counter in [&UPLOADED, &DOWNLOADED, &EXPIRED, &ORPHANED] {
        LazyLock::force(counter);
    }
}
