//! What the connections of one caller share: how many there may be, on how many topics they are, and how
//! often they ask the store.
//!
//! A socket that was ended gives its place up at once, but what was on its way stays for some seconds,
//! until its client has taken it. So what counts is the body of the connection, which is there until it
//! has been taken to its end, or ended sockets could be collected. What the connection buffers, some dozens
//! of KiB, is not counted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use domain::id::ParticipantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Claim, ClaimRefused, Hub};

/// How many joins of one caller are decided at once, on all its sockets. Each asks the store, whose
/// queue is for everybody.
const JOINS_AT_ONCE: usize = 8;

/// What callers share, by caller.
pub(super) type Seats = HashMap<ParticipantId, Weak<Shares>>;

/// What the connections of one caller share.
pub(super) struct Shares {
    hub: Arc<Hub>,
    who: ParticipantId,
    connections: AtomicUsize,
    topics: AtomicUsize,
    joins: Arc<Semaphore>,
}

/// One connection, for as long as anything goes out of it; given up when it is dropped.
pub(crate) struct Seat(Arc<Shares>);

/// One socket on one topic; given up when it is dropped.
pub(super) struct Place(Arc<Shares>);

impl Hub {
    /// Counts one more connection, if the caller may have one.
    pub(super) fn seat(self: &Arc<Self>, who: ParticipantId) -> Result<Seat, ClaimRefused> {
        let (shares, most) = (self.shares(who), self.config.max_sockets_per_caller);
        let one_more = |taken| (taken < most).then_some(taken + 1);
        match shares.connections.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more) {
            Ok(_) => Ok(Seat(shares)),
            Err(_) => Err(ClaimRefused::TooMany),
        }
    }

    fn shares(self: &Arc<Self>, who: ParticipantId) -> Arc<Shares> {
        let mut seats = self.seats();
        if let Some(shares) = seats.get(&who).and_then(Weak::upgrade) {
            return shares;
        }
        let joins = Arc::new(Semaphore::new(JOINS_AT_ONCE));
        let (connections, topics) = Default::default();
        let shares = Arc::new(Shares { hub: self.clone(), who, connections, topics, joins });
        seats.insert(who, Arc::downgrade(&shares));
        shares
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    pub(super) fn shares(&self) -> Arc<Shares> {
        self.0.clone()
    }
}

impl Claim {
    /// Whether the caller's sockets are on as many topics as they may be together. Joins that are being
    /// decided may take it a little further.
    pub(crate) fn is_on_too_many_topics(&self) -> bool {
        self.shares.topics.load(Ordering::Relaxed) >= self.hub.config.max_topics_per_caller
    }

    pub(super) fn place(&self) -> Place {
        self.shares.topics.fetch_add(1, Ordering::Relaxed);
        Place(self.shares.clone())
    }

    /// Waits until one more join of the caller may ask the store.
    pub(crate) fn join_turn(&self) -> impl Future<Output = Option<OwnedSemaphorePermit>> + use<> {
        let turn = self.shares.joins.clone().acquire_owned();
        // Nobody closes it.
        async { turn.await.ok() }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.topics.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Shares {
    /// Unless somebody of the caller has come meanwhile, who did not find these.
    fn drop(&mut self) {
        let mut seats = self.hub.seats();
        if seats.get(&self.who).is_some_and(|shares| shares.strong_count() == 0) {
            seats.remove(&self.who);
        }
    }
}
