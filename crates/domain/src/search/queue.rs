//! The rooms whose messages are to be indexed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::ports::EventPublisher;

/// The maximum number of rooms of each sort; the rest is found by the next walk over all rooms.
const MOST: usize = 16_384;

/// Rooms to be indexed, each once.
#[derive(Debug, Default)]
pub struct IndexQueue(Mutex<Rooms>);

#[derive(Debug, Default)]
struct Rooms {
    /// Those with new messages.
    fresh: BTreeSet<ChatId>,
    /// Those that have been behind for longer.
    backlog: BTreeSet<ChatId>,
}

impl IndexQueue {
    /// Notes a new message of this server.
    pub fn note_event(&self, event: &DomainEvent) {
        if let DomainEvent::MessageCreated { message, .. } | DomainEvent::EventCreated { message } = event {
            let mut rooms = self.rooms();
            if rooms.fresh.len() < MOST {
                rooms.fresh.insert(message.chat_id);
            }
        }
    }

    /// Adds rooms that are behind.
    pub(super) fn add(&self, behind: impl IntoIterator<Item = ChatId>) {
        let mut rooms = self.rooms();
        let free = MOST.saturating_sub(rooms.backlog.len());
        rooms.backlog.extend(behind.into_iter().take(free));
    }

    /// Takes the next rooms: those with new messages first.
    pub(super) fn take(&self, most: usize) -> Vec<ChatId> {
        let mut rooms = self.rooms();
        let Rooms { fresh, backlog } = &mut *rooms;
        let next = fresh.iter().chain(&*backlog).take(most).copied().collect::<BTreeSet<_>>();
        fresh.retain(|room| !next.contains(room));
        backlog.retain(|room| !next.contains(room));
        next.into_iter().collect()
    }

    /// The number of rooms.
    pub(super) fn len(&self) -> usize {
        let rooms = self.rooms();
        rooms.fresh.len() + rooms.backlog.len()
    }

    fn rooms(&self) -> std::sync::MutexGuard<'_, Rooms> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A publisher that first notes the rooms with new messages.
pub struct IndexedEvents {
    queue: Arc<IndexQueue>,
    next: Arc<dyn EventPublisher>,
}

impl IndexedEvents {
    /// Passes all events on to `next`.
    pub fn new(queue: Arc<IndexQueue>, next: Arc<dyn EventPublisher>) -> Self {
        Self { queue, next }
    }
}

impl EventPublisher for IndexedEvents {
    fn publish(&self, event: DomainEvent) {
        self.queue.note_event(&event);
        self.next.publish(event);
    }

    fn has_human_subscribers(&self, chat: ChatId) -> bool {
        self.next.has_human_subscribers(chat)
    }
}
