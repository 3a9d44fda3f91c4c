//! The interests of this node on the bus: the events that its subscriptions need from other nodes.
//!
//! A subscription has the interests of its topic. The bus is notified when the first subscription
//! with an interest begins, and when the last one ends.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::bus::{EventBus, Interest};
use ws_gateway::topic::Topic;

/// The number of subscriptions per interest.
pub(crate) struct Interests {
    bus: Arc<dyn EventBus>,
    counts: Mutex<HashMap<Interest, usize>>,
}

impl Interests {
    pub(crate) fn new(bus: Arc<dyn EventBus>) -> Arc<Self> {
        Arc::new(Self { bus, counts: Mutex::default() })
    }

    /// Counts the interests of one more subscription.
    pub(crate) fn take(self: &Arc<Self>, topic: Topic, is_human: bool) -> TakenInterest {
        self.add(topic, is_human);
        TakenInterest { of: self.clone(), topic, is_human }
    }

    /// Waits until events for all current interests arrive from other nodes.
    pub(crate) async fn confirmed(&self) {
        self.bus.settled().await;
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Interest, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, topic: Topic, is_human: bool) {
        let mut counts = self.counts();
        for interest in topic.interests(is_human) {
            let count = counts.entry(interest).or_default();
            *count += 1;
            if *count == 1 {
                // Under the lock, so that the bus is notified in order.
                self.bus.begin(interest);
            }
        }
    }

    fn remove(&self, topic: Topic, is_human: bool) {
        let mut counts = self.counts();
        for interest in topic.interests(is_human) {
            let Entry::Occupied(mut count) = counts.entry(interest) else { continue };
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
                self.bus.end(interest);
            }
        }
    }
}

/// The interests of one subscription, until it is dropped.
pub(crate) struct TakenInterest {
    of: Arc<Interests>,
    topic: Topic,
    is_human: bool,
}

impl Drop for TakenInterest {
    fn drop(&mut self) {
        self.of.remove(self.topic, self.is_human);
    }
}

#[cfg(test)]
mod tests;
