//! Quotas of a caller over all its sockets: connections, topics, and joins that are decided at the
//! same time.
//!
//! A socket that the server closes releases its topics at once, but its queued frames stay for some
//! seconds until the client has read them. The connection quota therefore counts the bodies of
//! connections, which live until they are read to the end; otherwise a client could collect closed
//! sockets. The buffers of a connection, some dozens of KiB, are not counted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use domain::id::ParticipantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{ClaimRefused, Hub, SocketClaim};

/// The maximum number of joins of one caller that are decided concurrently. Each reads the store,
/// whose queue all callers share.
const JOINS_AT_ONCE: usize = 8;

/// Quotas by caller.
pub(super) type CallerQuotas = HashMap<ParticipantId, Weak<CallerQuota>>;

/// The usage of one caller.
pub(super) struct CallerQuota {
    hub: Arc<Hub>,
    who: ParticipantId,
    connections: AtomicUsize,
    topics: AtomicUsize,
    joins: Arc<Semaphore>,
}

/// One connection, until its last frame has been read; released when it is dropped.
pub(crate) struct ConnectionSlot(Arc<CallerQuota>);

/// One subscription of a socket to a topic; released when it is dropped.
pub(super) struct TopicSlot(Arc<CallerQuota>);

impl Hub {
    /// Takes a slot for one more connection, if the caller may have one.
    pub(super) fn slot(self: &Arc<Self>, who: ParticipantId) -> Result<ConnectionSlot, ClaimRefused> {
        let (quota, most) = (self.quota(who), self.config.max_sockets_per_caller);
        let one_more = |taken| (taken < most).then_some(taken + 1);
        match quota.connections.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more) {
            Ok(_) => Ok(ConnectionSlot(quota)),
            Err(_) => Err(ClaimRefused::TooMany),
        }
    }

    fn quota(self: &Arc<Self>, who: ParticipantId) -> Arc<CallerQuota> {
        let mut quotas = self.quotas();
        if let Some(quota) = quotas.get(&who).and_then(Weak::upgrade) {
            return quota;
        }
        let joins = Arc::new(Semaphore::new(JOINS_AT_ONCE));
        let (connections, topics) = Default::default();
        let quota = Arc::new(CallerQuota { hub: self.clone(), who, connections, topics, joins });
        quotas.insert(who, Arc::downgrade(&quota));
        quota
    }

    fn quotas(&self) -> MutexGuard<'_, CallerQuotas> {
        self.quotas.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionSlot {
    pub(super) fn quota(&self) -> Arc<CallerQuota> {
        self.0.clone()
    }
}

impl SocketClaim {
    /// Returns whether the caller has reached its quota of topics. Joins that are being decided can
    /// exceed it slightly.
    pub(crate) fn is_on_too_many_topics(&self) -> bool {
        self.quota.topics.load(Ordering::Relaxed) >= self.hub.config.max_topics_per_caller
    }

    pub(super) fn topic_slot(&self) -> TopicSlot {
        self.quota.topics.fetch_add(1, Ordering::Relaxed);
        TopicSlot(self.quota.clone())
    }

    /// Waits until one more join of the caller may read the store.
    pub(crate) fn join_turn(&self) -> impl Future<Output = Option<OwnedSemaphorePermit>> + use<> {
        let turn = self.quota.joins.clone().acquire_owned();
        // The semaphore is never closed.
        async { turn.await.ok() }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for TopicSlot {
    fn drop(&mut self) {
        self.0.topics.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for CallerQuota {
    /// Removes the entry, unless a new connection of the caller has replaced it.
    fn drop(&mut self) {
        let mut quotas = self.hub.quotas();
        if quotas.get(&self.who).is_some_and(|quota| quota.strong_count() == 0) {
            quotas.remove(&self.who);
        }
    }
}
