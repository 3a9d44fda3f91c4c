//! What the own sockets listen to, for a server that is one of several.
//!
//! Whoever listens to a topic holds what other nodes have to tell for it; the bus hears of the first who does, and when
//! the last has gone. A server that is alone keeps nothing of this.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::bus::{EventBus, Interest};
use domain::id::ParticipantId;

use super::Hub;
use crate::topic::Topic;

/// How many listeners need what.
pub(super) struct Interests {
    bus: Arc<dyn EventBus>,
    counts: Mutex<HashMap<Interest, usize>>,
}

/// What one listener needs; given up when it is dropped.
pub(super) struct Held(Option<Box<Needs>>);

struct Needs {
    interests: Arc<Interests>,
    topic: Topic,
    is_human: bool,
}

impl Hub {
    /// The server is one of several: from now on `bus` is told what its sockets listen to. To be called before there is
    /// any.
    pub fn share(&self, bus: Arc<dyn EventBus>) {
        let interests = Interests { bus, counts: Mutex::default() };
        // Whoever calls it twice is on the first bus.
        let _ = self.interests.set(Arc::new(interests));
    }

    /// What somebody needs who begins to listen.
    pub(super) fn hold(&self, topic: Topic, who: ParticipantId) -> Held {
        let Some(interests) = self.interests.get() else { return Held(None) };
        let needs = Needs { interests: interests.clone(), topic, is_human: who.user().is_some() };
        interests.add(&needs);
        Held(Some(Box::new(needs)))
    }

    /// Waits until what is listened to by now is heard from other nodes as well, so that nothing of them is missed which
    /// is stored after the store is asked.
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
                // Under the lock, so that the bus hears it in its order.
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
