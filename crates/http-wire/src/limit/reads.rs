//! Limits concurrent reads, for each caller and in all.
//!
//! A caller has a few running reads; the others wait in the caller's own queue, so that a caller
//! who requests a thousand pages only delays itself. Running reads wait for their turn in the order
//! of arrival: with a few reads of each caller there, that is round-robin over the callers. This
//! precedes every store, so the threads that read from SQLite and the connections to PostgreSQL are
//! shared in the same way, and changes never queue behind more reads than are running.
//!
//! A store that answers many requests for the next message together gets more of these at once.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use crate::error::{ApiError, ErrorCode};

/// The limits of reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadLimit {
    /// Running, of all callers together.
    pub at_work: usize,
    /// Running, of one caller.
    pub per_caller: usize,
    /// Queued, of one caller.
    pub waiting: usize,
    /// The maximum time that a read waits for a permit.
    pub patience: Duration,
}

impl ReadLimit {
    /// The limits of requests for the next message, if the store answers them in groups. The texts of the messages take
    /// at most 32 MiB at once, not counting copies.
    pub const GROUPED: Self =
        Self { at_work: 64, per_caller: 8, waiting: 256, patience: Duration::from_secs(10) };
}

impl Default for ReadLimit {
    fn default() -> Self {
        Self { at_work: 8, per_caller: 2, waiting: 256, patience: Duration::from_secs(10) }
    }
}

/// Admits reads; one for all workers of the server.
pub(super) struct Reads {
    limit: ReadLimit,
    permits: Arc<Semaphore>,
    callers: Mutex<HashMap<u128, Queue>>,
}

/// The reads of one caller.
#[derive(Default)]
struct Queue {
    at_work: usize,
    waiting: VecDeque<oneshot::Sender<CallerPermit>>,
}

/// One of a caller's permits for running reads.
struct CallerPermit {
    reads: Arc<Reads>,
    caller: u128,
}

/// One of a caller's permits for running reads; the read itself waits for a [`ReadPermit`].
pub struct CallerReadPermit(CallerPermit);

/// A running read, until this is dropped.
pub struct ReadPermit {
    // This is dropped first, so that the caller's next read finds it free.
    _permit: OwnedSemaphorePermit,
    _caller_permit: CallerPermit,
}

impl Reads {
    pub(super) fn new(limit: ReadLimit) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(limit.at_work));
        Arc::new(Self { limit, permits, callers: Mutex::default() })
    }

    /// Waits for a permit of the caller.
    ///
    /// # Errors
    /// 429 if too many of the caller's reads are queued, 503 after a long wait.
    pub(super) async fn caller_permit(self: &Arc<Self>, caller: u128) -> Result<CallerReadPermit, ApiError> {
        let Some(wait) = self.enter(caller)? else {
            return Ok(CallerReadPermit(CallerPermit { reads: self.clone(), caller }));
        };
        match timeout(self.limit.patience, wait).await {
            Ok(Ok(caller_permit)) => Ok(CallerReadPermit(caller_permit)),
            Ok(Err(_)) | Err(_) => Err(too_slow()),
        }
    }

    /// Takes a free permit, or a position in the caller's queue.
    fn enter(&self, caller: u128) -> Result<Option<oneshot::Receiver<CallerPermit>>, ApiError> {
        let mut callers = self.callers();
        let queue = callers.entry(caller).or_default();
        if queue.at_work < self.limit.per_caller {
            queue.at_work += 1;
            return Ok(None);
        }
        if queue.waiting.len() >= self.limit.waiting {
            // Callers that have stopped waiting make room.
            queue.waiting.retain(|waiting| !waiting.is_closed());
            if queue.waiting.len() >= self.limit.waiting {
                return Err(too_many());
            }
        }
        let (caller_permit, wait) = oneshot::channel();
        queue.waiting.push_back(caller_permit);
        Ok(Some(wait))
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<u128, Queue>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next waiting read that gets the released permit; `None` if none waits, and the permit is
    /// then free.
    fn next(&self, caller: u128) -> Option<oneshot::Sender<CallerPermit>> {
        let mut callers = self.callers();
        let Entry::Occupied(mut queue) = callers.entry(caller) else { return None };
        while let Some(next) = queue.get_mut().waiting.pop_front() {
            if !next.is_closed() {
                return Some(next);
            }
        }
        queue.get_mut().at_work -= 1;
        if queue.get().at_work == 0 {
            queue.remove();
        }
        None
    }
}

impl CallerReadPermit {
    /// Waits for the permit of the read.
    ///
    /// # Errors
    /// 503 after a long wait.
    pub async fn permit(self) -> Result<ReadPermit, ApiError> {
        let Self(caller_permit) = self;
        let permits = caller_permit.reads.permits.clone();
        let permit = match permits.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => match timeout(caller_permit.reads.limit.patience, permits.acquire_owned()).await {
                Ok(Ok(permit)) => permit,
                Ok(Err(_)) | Err(_) => return Err(too_slow()),
            },
        };
        Ok(ReadPermit { _permit: permit, _caller_permit: caller_permit })
    }
}

impl Drop for CallerPermit {
    fn drop(&mut self) {
        if let Some(next) = self.reads.next(self.caller) {
            // If the receiver has just stopped waiting, the permit comes back and is dropped again.
            let _ = next.send(Self { reads: self.reads.clone(), caller: self.caller });
        }
    }
}

fn too_many() -> ApiError {
    let message = "Too many of your requests are queued. Wait for their responses, or try again in a second.";
    ApiError::new(ErrorCode::RateLimited, message).with_retry_after(1)
}

fn too_slow() -> ApiError {
    let message = "Your request waited too long in the queue. Try again in a second.";
    ApiError::new(ErrorCode::ServiceUnavailable, message).with_retry_after(1)
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    const LIMIT: ReadLimit =
        ReadLimit { at_work: 2, per_caller: 1, waiting: 3, patience: Duration::from_secs(10) };

    type Reading = Pin<Box<dyn Future<Output = Result<ReadPermit, ApiError>>>>;

    fn read(reads: &Arc<Reads>, caller: u128) -> Reading {
        let reads = reads.clone();
        Box::pin(async move { reads.caller_permit(caller).await?.permit().await })
    }

    fn poll(reading: &mut Reading) -> Poll<Result<ReadPermit, ErrorCode>> {
        let polled = reading.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        polled.map_err(|error| error.code())
    }

    fn begun(reading: &mut Reading) -> ReadPermit {
        match poll(reading) {
            Poll::Ready(Ok(turn)) => turn,
            Poll::Ready(Err(code)) => panic!("{code:?}"),
            Poll::Pending => panic!("it waits"),
        }
    }

    #[tokio::test]
    async fn the_queue_of_one_caller_delays_no_other() {
        let reads = Reads::new(LIMIT);
        let first = begun(&mut read(&reads, 1));
        let mut waiting = [read(&reads, 1), read(&reads, 1), read(&reads, 1)];
        assert!(waiting.iter_mut().all(|one| poll(one).is_pending()));
        let other = begun(&mut read(&reads, 2));
        // Both permits are taken now. A third caller follows directly, before the first one's queue.
        let mut third = read(&reads, 3);
        assert!(poll(&mut third).is_pending());
        drop(first);
        let third = begun(&mut third);
        assert!(
            poll(&mut waiting[0]).is_pending(),
            "it has the permit of its caller, and waits for that of the server"
        );
        drop(other);
        let mut again = read(&reads, 2);
        assert!(poll(&mut again).is_pending(), "its turn comes after that of the one who has waited");
        let second = begun(&mut waiting[0]);
        assert!(poll(&mut waiting[1]).is_pending());
        drop((third, second));
        drop((begun(&mut again), begun(&mut waiting[1])));
        drop(begun(&mut waiting[2]));
        assert!(reads.callers().is_empty());
        assert_eq!(reads.permits.available_permits(), LIMIT.at_work);
    }

    #[tokio::test]
    async fn a_queue_is_bounded_and_forgets_who_has_gone() {
        let reads = Reads::new(LIMIT);
        let first = begun(&mut read(&reads, 1));
        let mut waiting = [read(&reads, 1), read(&reads, 1), read(&reads, 1)];
        assert!(waiting.iter_mut().all(|one| poll(one).is_pending()));
        assert!(matches!(poll(&mut read(&reads, 1)), Poll::Ready(Err(ErrorCode::RateLimited))));
        drop(begun(&mut read(&reads, 2)));
        let [gone, stays, last] = waiting;
        drop((gone, last));
        let mut stays = stays;
        let mut more = read(&reads, 1);
        assert!(poll(&mut more).is_pending(), "there is room again");
        drop(first);
        drop(begun(&mut stays));
        drop(begun(&mut more));
        assert!(reads.callers().is_empty());
    }

    /// A permit that was handed to a caller that has gone meanwhile is not lost.
    #[tokio::test]
    async fn a_callers_permit_is_never_lost() {
        let reads = Reads::new(LIMIT);
        let first = begun(&mut read(&reads, 1));
        let mut waiting = [read(&reads, 1), read(&reads, 1)];
        assert!(waiting.iter_mut().all(|one| poll(one).is_pending()));
        drop(first);
        let [gone, mut next] = waiting;
        drop(gone);
        drop(begun(&mut next));
        assert!(reads.callers().is_empty());
    }

    #[tokio::test]
    async fn a_waiting_read_times_out() {
        let reads = Reads::new(ReadLimit { patience: Duration::from_millis(20), ..LIMIT });
        let _mine = begun(&mut read(&reads, 1));
        let _theirs = begun(&mut read(&reads, 2));
        for caller in [1, 3] {
            let refused = read(&reads, caller).await.err().unwrap();
            assert_eq!(refused.code(), ErrorCode::ServiceUnavailable, "{caller}");
        }
        assert_eq!(reads.callers().len(), 2, "whoever gave up has no permit");
    }
}
