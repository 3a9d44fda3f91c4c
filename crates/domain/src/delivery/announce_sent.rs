//! Announces what a command has stored or changed: a command has no sockets, and publishes no events.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::mark_delivered::updates_to;
use super::service::DeliveryService;
use super::state::DeliveryStatus;
use crate::event::DomainEvent;
use crate::id::{AgentId, ChatId, MessageId};
use crate::message::Message;
use crate::ports::EventPublisher;
use crate::store::{OnCommit, StoreError};

impl DeliveryService {
    /// Publishes a message to `events` as if it had just been sent, in commit order, for those agents that
    /// have not taken it and are not stopped. Every server calls this for its own sockets. A message that is
    /// gone is not announced.
    pub async fn announce_sent(
        &self,
        message: MessageId,
        events: Arc<dyn EventPublisher>,
    ) -> Result<(), StoreError> {
        let mut recipients = Vec::new();
        for sent in self.stored(message).await? {
            for agent in sent.addressed_agents() {
                if self.is_new_for(agent, &sent).await? {
                    recipients.push(agent);
                }
            }
        }
        let publish = OnCommit::new(move |sent: &Vec<Message>| {
            for message in sent.clone() {
                // Some may have taken it since they were read.
                let is_new = |agent: &AgentId| {
                    let mut deliveries = message.deliveries.iter();
                    deliveries.any(|one| one.agent() == *agent && one.status() == DeliveryStatus::New)
                };
                let recipients = recipients.iter().copied().filter(is_new).collect();
                events.publish(DomainEvent::MessageCreated { message, recipients });
            }
        });
        self.deliveries.announce_delivered(vec![message], Box::new(|_| true), publish).await
    }

    /// Publishes the current state of a message to `events`, in commit order, if humans see its room there; otherwise
    /// returns its chat. Every server calls this for its own sockets. A message that is gone is not announced.
    pub async fn announce_updated(
        &self,
        message: MessageId,
        events: Arc<dyn EventPublisher>,
    ) -> Result<Option<ChatId>, StoreError> {
        let updates = updates_to(&events);
        let unheard = Arc::<OnceLock<ChatId>>::default();
        let quiet = unheard.clone();
        let heard = Box::new(move |chat| {
            let heard = events.has_human_subscribers(chat);
            if !heard {
                quiet.get_or_init(|| chat);
            }
            heard
        });
        self.deliveries.announce_delivered(vec![message], heard, updates).await?;
        Ok(unheard.get().copied())
    }

    /// The message, if it is still there.
    async fn stored(&self, message: MessageId) -> Result<Vec<Message>, StoreError> {
        let (read, found) = collect();
        self.deliveries.announce_delivered(vec![message], Box::new(|_| true), read).await?;
        Ok(taken(&found))
    }

    async fn is_new_for(&self, agent: AgentId, sent: &Message) -> Result<bool, StoreError> {
        let (read, found) = collect();
        self.deliveries.new_messages(agent, sent.chat_id, vec![sent.sequence], read).await?;
        Ok(!taken(&found).is_empty())
    }
}

type Found = Arc<Mutex<Vec<Message>>>;

/// A hook that collects what it is given.
fn collect() -> (OnCommit<Vec<Message>>, Found) {
    let found = Found::default();
    let to = found.clone();
    let hook = OnCommit::new(move |messages: &Vec<Message>| {
        to.lock().unwrap_or_else(PoisonError::into_inner).clone_from(messages);
    });
    (hook, found)
}

fn taken(found: &Found) -> Vec<Message> {
    std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner))
}
