//! Storing the acknowledgements of sockets.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::port::DeliveryKey;
use super::service::DeliveryService;
use crate::event::DomainEvent;
use crate::message::Message;
use crate::ports::EventPublisher;
use crate::store::{OnCommit, StoreError};

impl DeliveryService {
    /// Marks deliveries as *delivered* if they are still new, and notifies the humans in the chats.
    /// A repetition changes nothing.
    pub async fn mark_delivered(&self, taken: Vec<DeliveryKey>) -> Result<(), StoreError> {
        let messages = taken.iter().map(|key| key.message).collect::<BTreeSet<_>>();
        let unheard = Arc::new(Mutex::new(BTreeSet::new()));
        let (listeners, quiet) = (self.events.clone(), unheard.clone());
        let heard = Box::new(move |chat| {
            let heard = listeners.has_human_subscribers(chat);
            if !heard {
                quiet.lock().unwrap_or_else(PoisonError::into_inner).insert(chat);
            }
            heard
        });
        self.deliveries.mark_delivered(taken, self.clock.now(), heard, updates_to(&self.events)).await?;
        // A subscription that began before the commit may have read the earlier state.
        let mut missed = std::mem::take(&mut *unheard.lock().unwrap_or_else(PoisonError::into_inner));
        missed.retain(|chat| self.events.has_human_subscribers(*chat));
        if missed.is_empty() {
            return Ok(());
        }
        let heard = Box::new(move |chat| missed.contains(&chat));
        self.deliveries
            .announce_delivered(messages.into_iter().collect(), heard, updates_to(&self.events))
            .await
    }
}

/// Announces the new state of messages to humans.
pub(super) fn updates_to(events: &Arc<dyn EventPublisher>) -> OnCommit<Vec<Message>> {
    let events = events.clone();
    OnCommit::new(move |changed: &Vec<Message>| {
        for message in changed {
            events.publish(DomainEvent::MessageUpdated { message: message.clone() });
        }
    })
}
