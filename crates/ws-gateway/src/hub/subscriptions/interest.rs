//! The interests of this node on the bus: the events that its subscriptions need from other nodes.
//!
//! A subscription holds the interests of its topic. The bus is notified when the first holder
//! appears and when the last one is gone. A single server keeps none of this.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::bus::{EventBus, Interest};
use domain::id::ParticipantId;

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

impl Held {
    /// Takes the interests of a new subscription of `who`, if this node is one of several.
    pub(super) fn by(interests: Option<&Arc<Interests>>, topic: Topic, who: ParticipantId) -> Self {
        let Some(interests) = interests else { return Self(None) };
        let needs = Needs { interests: interests.clone(), topic, is_human: who.user().is_some() };
        interests.add(&needs);
        Self(Some(Box::new(needs)))
    }
}

impl Interests {
    pub(super) fn new(bus: Arc<dyn EventBus>) -> Self {
        Self { bus, counts: Mutex::default() }
    }

    /// Waits until events for all current interests arrive from other nodes.
    pub(super) async fn settled(&self) {
        self.bus.settled().await;
    }

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
