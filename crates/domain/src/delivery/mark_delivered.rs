//! Writing down what sockets of agents took.

use super::port::DeliveryKey;
use super::service::DeliveryService;
use crate::event::DomainEvent;
use crate::message::Message;
use crate::store::{Announce, StoreError};

impl DeliveryService {
    /// Makes what was taken *delivered*, as far as it is still new; the humans in the rooms hear of
    /// it. Saying the same again changes nothing.
    pub async fn mark_delivered(&self, taken: Vec<DeliveryKey>) -> Result<(), StoreError> {
        let (events, listeners) = (self.events.clone(), self.events.clone());
        let heard = Box::new(move |chat| listeners.is_heard(chat));
        let announce = Announce::new(move |changed: &Vec<Message>| {
            for message in changed {
                events.publish(DomainEvent::MessageUpdated { message: message.clone() });
            }
        });
        self.deliveries.mark_delivered(taken, self.clock.now(), heard, announce).await
    }
}
