//! The free disk space for the data, and the refusal of writes when it is low.
//!
//! A full disk stops every write, including the small ones by which agents close their work and
//! operators recover. Below a limit of free space only small writes are therefore accepted, and the
//! last quarter of it is a reserve for deletions and the smallest writes. Of a remote database only
//! a full disk is detected.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::CONTENT_LENGTH;
use http_wire::error::{ApiError, ErrorCode};
use measure::Outage;
use tokio::time::{MissedTickBehavior, interval};

use crate::config::Config;
use crate::store::StoreAt;

/// The interval of checks. At 72 MB a second, the fastest measured rate of one user, that is 36 MB.
const EVERY: Duration = Duration::from_millis(500);

/// The maximum size of a small write.
const SMALL: u64 = 16 * 1024;

/// The maximum size of a write in the reserve: enough for agents to finish their work.
const TINY: u64 = 1024;

/// The value of `Retry-After` for refused writes, in seconds.
const RETRY_AFTER: u32 = 30;

/// The disk space for the data.
pub(crate) struct Disk {
    /// The data directory, or that of the embedded store.
    directory: Option<PathBuf>,
    /// Below this number of free bytes, only small writes are accepted; below a quarter, only tiny ones.
    floor: u64,
    /// The maximum size of a write: [`TINY`], [`SMALL`], or any.
    accepted: AtomicU64,
}

impl Disk {
    pub(crate) fn of(config: &Config) -> Arc<Self> {
        // With a remote database, the data directory holds little, so its space is measured but
        // refuses nothing.
        let (directory, floor) = match &config.store {
            StoreAt::File(path) => (Some(directory_of(path)), config.min_free_bytes),
            StoreAt::Postgres(_) => (Some(config.data_dir.clone()), 0),
            StoreAt::Memory => (None, 0),
        };
        let disk = Arc::new(Self { directory, floor, accepted: AtomicU64::new(u64::MAX) });
        disk.look();
        disk
    }

    /// Measures the free space; returns it if it is known.
    fn look(&self) -> Option<u64> {
        let free = free(self.directory.as_deref()?)?;
        measure::disk_free(free);
        self.judge(free);
        Some(free)
    }

    fn judge(&self, free: u64) {
        let before = self.accepted.load(Ordering::Relaxed);
        // A higher limit ends a shortage, so that it does not change with every temporary file.
        let is_below = |floor: u64, size| free < if before <= size { floor + floor / 8 } else { floor };
        let accepted = if is_below(self.floor / 4, TINY) {
            TINY
        } else if is_below(self.floor, SMALL) {
            SMALL
        } else {
            u64::MAX
        };
        self.accepted.store(accepted, Ordering::Relaxed);
    }

    fn is_low(&self) -> bool {
        self.accepted.load(Ordering::Relaxed) <= SMALL
    }

    /// Returns whether large writes are refused.
    pub(crate) fn is_short(&self) -> bool {
        self.is_low() || measure::is_store_full()
    }

    /// Admits a request, or refuses a large write while space is low.
    pub(crate) fn admit(&self, request: &ServiceRequest) -> Result<(), ApiError> {
        let accepted = self.accepted.load(Ordering::Relaxed);
        if accepted == u64::MAX || writes_at_most(accepted, request) {
            Ok(())
        } else {
            Err(refusal(accepted))
        }
    }

    /// Admits so many bytes of a request whose length was unknown, or that has been running for a while.
    pub(crate) fn admit_bytes(&self, bytes: u64) -> Result<(), ApiError> {
        let accepted = self.accepted.load(Ordering::Relaxed);
        if bytes <= accepted { Ok(()) } else { Err(refusal(accepted)) }
    }

    /// Measures periodically; logs when space gets low, and when there is enough again.
    pub(crate) async fn watch(self: Arc<Self>) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut low, mut full) = (Outage::default(), Outage::default());
        loop {
            ticks.tick().await;
            let free_bytes = self.look();
            if self.is_low() {
                if low.begins() {
                    let floor_bytes = self.floor;
                    tracing::warn!(free_bytes, floor_bytes, "disk nearly full; large writes are refused");
                }
            } else if let Some(lasted) = low.ends() {
                tracing::info!(free_bytes, duration_ms = lasted.as_millis(), "disk has room again");
            }
            if measure::is_store_full() {
                if full.begins() {
                    tracing::warn!("disk of the store full; writes fail");
                }
            } else if let Some(lasted) = full.ends() {
                tracing::info!(duration_ms = lasted.as_millis(), "disk of the store no longer full");
            }
        }
    }
}

/// Refuses a write of more than `accepted` bytes.
fn refusal(accepted: u64) -> ApiError {
    measure::write_refused();
    let what = format!(
        "The server's disk is nearly full. Send at most {} KiB, or ask the operator for more space.",
        accepted / 1024
    );
    ApiError::new(ErrorCode::ServiceUnavailable, what).with_retry_after(RETRY_AFTER)
}

/// The directory of a store's file, after following links.
pub(crate) fn directory_of(path: &Path) -> PathBuf {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match whole.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The number of bytes that an unprivileged user may still write there.
pub(crate) fn free(directory: &Path) -> Option<u64> {
    let system = rustix::fs::statvfs(directory).ok()?;
    Some(system.f_bavail.saturating_mul(system.f_frsize))
}

/// Returns whether a request reads, deletes, or declares a body of at most this size.
fn writes_at_most(size: u64, request: &ServiceRequest) -> bool {
    if [Method::GET, Method::HEAD, Method::OPTIONS, Method::DELETE].contains(request.method()) {
        return true;
    }
    let headers = request.headers();
    match headers.get(CONTENT_LENGTH) {
        Some(length) => {
            length.to_str().is_ok_and(|length| length.parse::<u64>().is_ok_and(|length| length <= size))
        }
        // A chunked body does not declare its size.
        None => !headers.contains_key("transfer-encoding"),
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn below_the_floor_only_small_writes_are_taken() {
        let disk = Disk { directory: None, floor: 1, accepted: AtomicU64::new(SMALL) };
        let admits = |request: TestRequest| disk.admit(&request.to_srv_request()).is_ok();
        let post = |length: &str| TestRequest::post().insert_header((CONTENT_LENGTH, length));
        assert!(admits(post("16384")) && admits(TestRequest::post()));
        assert!(!admits(post("16385")) && !admits(post("many")));
        assert!(!admits(TestRequest::put().insert_header(("transfer-encoding", "chunked"))));
        assert!(
            admits(TestRequest::get())
                && admits(TestRequest::delete().insert_header((CONTENT_LENGTH, "99999")))
        );
        disk.accepted.store(TINY, Ordering::Relaxed);
        assert!(admits(post("1024")) && admits(TestRequest::post()) && !admits(post("1025")));
        assert!(admits(TestRequest::get()) && admits(TestRequest::delete()));
        disk.accepted.store(u64::MAX, Ordering::Relaxed);
        assert!(admits(post("9999999")));
    }

    #[test]
    fn the_last_quarter_of_the_floor_is_a_reserve() {
        let disk = Disk { directory: None, floor: 800, accepted: AtomicU64::new(u64::MAX) };
        for (free, accepted) in [
            (800, u64::MAX),
            (799, SMALL),
            (200, SMALL),
            (199, TINY),
            (224, TINY),
            (225, SMALL),
            (899, SMALL),
            (900, u64::MAX),
            (0, TINY),
            (900, u64::MAX),
        ] {
            disk.judge(free);
            assert_eq!(disk.accepted.load(Ordering::Relaxed), accepted, "{free}");
        }
    }

    #[test]
    fn more_than_the_floor_ends_the_shortage() {
        let directory = Some(std::env::temp_dir());
        let now = free(directory.as_deref().unwrap()).unwrap();
        let disk = |floor| Disk { directory: directory.clone(), floor, accepted: AtomicU64::new(SMALL) };
        for (floor, is_low) in [(0, false), (now / 2, false), (now * 2, true)] {
            let disk = disk(floor);
            disk.look();
            assert_eq!(disk.is_short(), is_low, "{floor} of {now}");
        }
    }
}
