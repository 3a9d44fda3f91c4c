//! Counters of the messages that this server has stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::board::CountedBoards;
use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::ports::EventPublisher;

/// Messages since the start of the process.
#[derive(Debug, Default)]
pub struct SentCounts {
    messages: AtomicU64,
    deliveries: AtomicU64,
    events: AtomicU64,
}

impl SentCounts {
    fn note(&self, event: &DomainEvent) {
        let add = |counter: &AtomicU64, number: usize| counter.fetch_add(number as u64, Ordering::Relaxed);
        match event {
            DomainEvent::MessageCreated { message, .. } => {
                add(&self.messages, 1);
                add(&self.deliveries, message.deliveries.len());
            }
            DomainEvent::EventCreated { .. } => _ = add(&self.events, 1),
            _ => {}
        }
    }

    /// The number of texts.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// The number of deliveries of these texts to agents.
    pub fn deliveries(&self) -> u64 {
        self.deliveries.load(Ordering::Relaxed)
    }

    /// The number of events of agents, such as thoughts and tool calls.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }
}

/// A publisher that first counts the messages of this server, and notes the boards whose counts have changed.
pub struct CountedEvents {
    counts: Arc<SentCounts>,
    boards: Arc<CountedBoards>,
    next: Arc<dyn EventPublisher>,
}

impl CountedEvents {
    /// Passes all events on to `next`.
    pub fn new(counts: Arc<SentCounts>, boards: Arc<CountedBoards>, next: Arc<dyn EventPublisher>) -> Self {
        Self { counts, boards, next }
    }
}

impl EventPublisher for CountedEvents {
    fn publish(&self, event: DomainEvent) {
        self.counts.note(&event);
        self.boards.note_event(&event);
        self.next.publish(event);
    }

    fn has_human_subscribers(&self, chat: ChatId) -> bool {
        self.next.has_human_subscribers(chat)
    }
}
