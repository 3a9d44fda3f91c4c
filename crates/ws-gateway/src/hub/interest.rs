//! The interests of this node on the bus: the events that its subscriptions need from other nodes.
//!
//! A subscription holds the interests of its topic. The bus is notified when the first holder
//! appears and when the last one is gone. A single server keeps none of this.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::bus::{EventBus, Interest};
use domain::id::ParticipantId;

use super::Hub;
use crate::topic::Topic;

/// The number of subscriptions per interest.
pub(super) struct Interests {
    bus: Arc<dyn EventBus>,
    counts: Mutex<HashMap<Interest, usize>>,
}

/// The interests of one subscription; released when it is dropped.
pub(super) struct Held(Option<Box<Needs>>);

struct Needs {
    interests: Arc<Interests>,
    topic: Topic,
    is_human: bool,
}

impl Hub {
    /// Makes the server one of several: reports the interests of its subscriptions to `bus` from
    /// now on. Must precede the first subscription.
    pub fn share(&self, bus: Arc<dyn EventBus>) {
        let interests = Interests { bus, counts: Mutex::default() };
        // A second call has no effect.
        let _ = self.interests.set(Arc::new(interests));
    }

    /// Takes the interests of a new subscription.
    pub(super) fn hold(&self, topic: Topic, who: ParticipantId) -> Held {
        let Some(interests) = self.interests.get() else { return Held(None) };
        let needs = Needs { interests: interests.clone(), topic, is_human: who.user().is_some() };
        interests.add(&needs);
        Held(Some(Box::new(needs)))
    }

    /// Waits until events for all current interests arrive from other nodes, so that no event is
    /// missed that is stored after the store is read.
    pub(crate) async fn settled(&self) {
        if let Some(interests) = self.interests.get() {
            interests.bus.settled().await;
        }
    }
}

impl Interests {
    fn add(&self, needs: &Needs) {
        let mut counts = self.counts();
        for interest in needs.topic.interests(needs.is_human) {
            let count = counts.entry(interest).or_default();
            *count += 1;
            if *count == 1 {
                // Under the lock, so that the bus is notified in order.
                self.bus.begin(interest);
            }
        }
    }

    fn remove(&self, needs: &Needs) {
        let mut counts = self.counts();
        for interest in needs.topic.interests(needs.is_human) {
            let Entry::Occupied(mut count) = counts.entry(interest) else { continue };
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
                self.bus.end(interest);
            }
        }
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Interest, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(needs) = self.0.take() {
            needs.interests.remove(&needs);
        }
    }
}

#[cfg(test)]
mod tests;
