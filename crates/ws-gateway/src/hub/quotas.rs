//! Quotas of a caller over all its sockets: connections, topics, and joins that are decided at the
//! same time.
//!
//! A socket that the server closes releases its topics at once, but its queued frames stay for some
//! seconds until the client has read them. The connection quota therefore counts the bodies of
//! connections, which live until they are read to the end; otherwise a client could collect closed
//! sockets. The buffers of a connection, some dozens of KiB, are not counted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use domain::id::ParticipantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The maximum number of joins of one caller that are decided concurrently. Each reads the store,
/// whose queue all callers share.
const JOINS_AT_ONCE: usize = 8;

/// Quotas by caller.
#[derive(Default)]
pub(super) struct Quotas(Mutex<HashMap<ParticipantId, Weak<CallerQuota>>>);

/// The usage of one caller.
pub(super) struct CallerQuota {
    quotas: Arc<Quotas>,
    who: ParticipantId,
    connections: AtomicUsize,
    topics: AtomicUsize,
    joins: Arc<Semaphore>,
}

/// The permit of one connection, until its last frame has been read; released when it is dropped.
pub(crate) struct SocketPermit(Arc<CallerQuota>);

/// The permit of one subscription of a socket to a topic; released when it is dropped.
pub(super) struct TopicPermit(Arc<CallerQuota>);

impl Quotas {
    /// Takes the permit of one more connection; `None` if the caller has `most`.
    pub(super) fn permit(self: &Arc<Self>, who: ParticipantId, most: usize) -> Option<SocketPermit> {
        let quota = self.quota(who);
        let one_more = |taken| (taken < most).then_some(taken + 1);
        let taken = quota.connections.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        taken.is_ok().then(|| SocketPermit(quota))
    }

    fn quota(self: &Arc<Self>, who: ParticipantId) -> Arc<CallerQuota> {
        let mut callers = self.callers();
        if let Some(quota) = callers.get(&who).and_then(Weak::upgrade) {
            return quota;
        }
        let joins = Arc::new(Semaphore::new(JOINS_AT_ONCE));
        let (connections, topics) = Default::default();
        let quota = Arc::new(CallerQuota { quotas: self.clone(), who, connections, topics, joins });
        callers.insert(who, Arc::downgrade(&quota));
        quota
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<ParticipantId, Weak<CallerQuota>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallerQuota {
    /// Returns whether the caller has `most` topics. Joins that are being decided can exceed it
    /// slightly.
    pub(super) fn is_on_topics(&self, most: usize) -> bool {
        self.topics.load(Ordering::Relaxed) >= most
    }

    pub(super) fn topic_permit(self: &Arc<Self>) -> TopicPermit {
        self.topics.fetch_add(1, Ordering::Relaxed);
        TopicPermit(self.clone())
    }

    /// Waits until one more join of the caller may read the store.
    pub(super) fn join_permit(&self) -> impl Future<Output = Option<OwnedSemaphorePermit>> + use<> {
        let turn = self.joins.clone().acquire_owned();
        // The semaphore is never closed.
        async { turn.await.ok() }
    }
}

impl SocketPermit {
    pub(super) fn quota(&self) -> Arc<CallerQuota> {
        self.0.clone()
    }
}

impl Drop for SocketPermit {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for TopicPermit {
    fn drop(&mut self) {
        self.0.topics.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for CallerQuota {
    /// Removes the entry, unless a new connection of the caller has replaced it.
    fn drop(&mut self) {
        let mut callers = self.quotas.callers();
        if callers.get(&self.who).is_some_and(|quota| quota.strong_count() == 0) {
            callers.remove(&self.who);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::id::UserId;
    use uuid::Uuid;

    #[test]
    fn a_caller_without_connections_leaves_no_entry() {
        let (quotas, who) = (Arc::<Quotas>::default(), ParticipantId::User(UserId::new(Uuid::nil())));
        let (first, second) = (quotas.permit(who, 2), quotas.permit(who, 2));
        assert!(first.is_some() && second.is_some() && quotas.permit(who, 2).is_none());
        drop(first);
        assert!(quotas.permit(who, 2).is_some(), "it was released");
        let topic = second.as_ref().map(|permit| permit.quota().topic_permit());
        drop(second);
        assert_eq!(quotas.callers().len(), 1, "a topic counts as well");
        drop(topic);
        assert!(quotas.callers().is_empty());
    }
}
