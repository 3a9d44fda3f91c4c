//! Publishes what changes announce in the order of their commits.
//!
//! A change takes its slot when all its rows are locked and written, just before it commits. An append on
//! cached rows takes it before its one statement, which writes nothing if a row is locked or has changed.
//! Of two changes that waited for each other's locks, the first to commit therefore has the earlier slot.
//! Announcements run slot by slot.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{oneshot, watch};

type Publish = Box<dyn FnOnce() + Send>;

/// Hands out slots, and runs the announcements of finished slots in order.
#[derive(Default)]
pub(crate) struct CommitOrder {
    slots: Mutex<Slots>,
    /// The number of commits with an unknown outcome, whose announcements were lost.
    in_doubt: watch::Sender<u64>,
}

#[derive(Default)]
struct Slots {
    /// The number of the next slot.
    next: u64,
    /// The earliest slot that has not finished.
    first: u64,
    /// The announcements of later slots that have finished.
    finished: BTreeMap<u64, Option<Publish>>,
    /// Set while a thread runs announcements.
    publishing: bool,
}

/// A position in the order. Dropping it finishes the slot without an announcement.
pub(crate) struct CommitSlot {
    order: Arc<CommitOrder>,
    number: u64,
    finished: bool,
}

impl CommitOrder {
    /// Records a commit with an unknown outcome, whose announcement is lost.
    pub(crate) fn record_in_doubt(&self) {
        tracing::warn!("commit outcome unknown: the database gave no clear answer");
        self.in_doubt.send_modify(|number| *number += 1);
    }

    /// The number of commits in doubt so far; changes with each.
    pub(crate) fn commits_in_doubt(&self) -> watch::Receiver<u64> {
        self.in_doubt.subscribe()
    }

    /// The next slot.
    pub(crate) fn slot(self: &Arc<Self>) -> CommitSlot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let number = slots.next;
        slots.next += 1;
        CommitSlot { order: self.clone(), number, finished: false }
    }

    /// Finishes a slot, and runs the announcements whose turn has come. The lock is not held while they run.
    fn finish(&self, number: u64, publish: Option<Publish>) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.finished.insert(number, publish);
        if slots.publishing {
            return;
        }
        slots.publishing = true;
        loop {
            let first = slots.first;
            let Some(publish) = slots.finished.remove(&first) else { break };
            slots.first += 1;
            drop(slots);
            if let Some(publish) = publish {
                publish();
            }
            slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        }
        slots.publishing = false;
    }
}

impl CommitSlot {
    /// Finishes the slot of a committed change: calls `publish` with the outcome once all earlier
    /// slots have finished, and then returns the outcome.
    pub(crate) async fn publish<T: Send + 'static>(
        mut self,
        outcome: T,
        publish: impl FnOnce(&T) + Send + 'static,
    ) -> T {
        let (published, wait) = oneshot::channel();
        self.finished = true;
        let publish = move || {
            if catch_unwind(AssertUnwindSafe(|| publish(&outcome))).is_err() {
                tracing::error!("publishing a change panicked");
            }
            let _ = published.send(outcome);
        };
        self.order.finish(self.number, Some(Box::new(publish)));
        wait.await.expect("every slot is published, since all earlier ones finish")
    }
}

impl Drop for CommitSlot {
    fn drop(&mut self) {
        if !self.finished {
            self.order.finish(self.number, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Published = Arc<Mutex<Vec<u8>>>;

    fn publishing(published: &Published) -> impl FnOnce(&u8) + Send + use<> {
        let published = published.clone();
        move |what| published.lock().unwrap().push(*what)
    }

    #[tokio::test]
    async fn slots_are_published_in_order_however_they_finish() {
        let published = Published::default();
        let order = Arc::new(CommitOrder::default());
        let (first, second, third) = (order.slot(), order.slot(), order.slot());
        let third = tokio::spawn(third.publish(3, publishing(&published)));
        tokio::task::yield_now().await;
        assert!(published.lock().unwrap().is_empty());
        drop(second);
        assert_eq!(first.publish(1, publishing(&published)).await, 1);
        third.await.unwrap();
        assert_eq!(*published.lock().unwrap(), [1, 3]);
    }

    #[tokio::test]
    async fn a_panic_in_an_announcement_stops_no_other() {
        let published = Published::default();
        let order = Arc::new(CommitOrder::default());
        let (first, second) = (order.slot(), order.slot());
        assert_eq!(first.publish(1, |_| panic!("on purpose")).await, 1);
        second.publish(2, publishing(&published)).await;
        assert_eq!(*published.lock().unwrap(), [2]);
    }
}
