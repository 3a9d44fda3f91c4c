//! For tests: an event publisher that drops messages and signals on purpose, between the commit and the sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::event::DomainEvent;
use domain::id::ChatId;
use domain::ports::EventPublisher;

/// Drops one of every `one_of` events of the kinds `message_created` and `agent.control`, starting with the first;
/// all other events pass.
pub struct LossyPublisher {
    to: Arc<dyn EventPublisher>,
    one_of: u64,
    count: AtomicU64,
}

impl LossyPublisher {
    /// Drops one of `one_of` events on the way to `to`; 1 drops all of them.
    pub fn new(to: Arc<dyn EventPublisher>, one_of: u64) -> Self {
        Self { to, one_of: one_of.max(1), count: AtomicU64::new(0) }
    }
}

impl EventPublisher for LossyPublisher {
    fn publish(&self, event: DomainEvent) {
        if matches!(event, DomainEvent::MessageCreated { .. } | DomainEvent::AgentControlled { .. }) {
            let number = self.count.fetch_add(1, Ordering::Relaxed);
            if number.is_multiple_of(self.one_of) {
                return;
            }
        }
        self.to.publish(event);
    }

    fn has_human_subscribers(&self, chat: ChatId) -> bool {
        self.to.has_human_subscribers(chat)
    }
}
