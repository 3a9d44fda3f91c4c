//! The rooms whose messages are to be indexed.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    fresh: Line,
    /// Those that have been behind for longer.
    backlog: Line,
}

/// Rooms in the order in which they came.
#[derive(Debug, Default)]
struct Line {
    order: VecDeque<ChatId>,
    all: HashSet<ChatId>,
}

impl Line {
    fn push(&mut self, room: ChatId) {
        if self.all.len() < MOST && self.all.insert(room) {
            self.order.push_back(room);
        }
    }

    fn pop(&mut self) -> Option<ChatId> {
        let room = self.order.pop_front()?;
        self.all.remove(&room);
        Some(room)
    }
}

/// Rooms that were taken to be indexed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Taken {
    /// Those with new messages, and then others.
    pub(super) rooms: Vec<ChatId>,
    /// The number of those with new messages.
    fresh: usize,
}

impl IndexQueue {
    /// Notes a new message of this server.
    pub fn note_event(&self, event: &DomainEvent) {
        if let DomainEvent::MessageCreated { message, .. } | DomainEvent::EventCreated { message } = event {
            self.note_room(message.chat_id);
        }
    }

    /// Notes a room with a new message.
    pub(super) fn note_room(&self, room: ChatId) {
        self.rooms().fresh.push(room);
    }

    /// Adds rooms that are behind.
    pub(super) fn add(&self, behind: impl IntoIterator<Item = ChatId>) {
        let mut rooms = self.rooms();
        behind.into_iter().for_each(|room| rooms.backlog.push(room));
    }

    /// Takes the next rooms: those with new messages first.
    pub(super) fn take(&self, most: usize) -> Taken {
        let mut rooms = self.rooms();
        let mut taken = Taken::default();
        while taken.rooms.len() < most
            && let Some(room) = rooms.fresh.pop()
        {
            taken.rooms.push(room);
        }
        taken.fresh = taken.rooms.len();
        while taken.rooms.len() < most
            && let Some(room) = rooms.backlog.pop()
        {
            taken.rooms.push(room);
        }
        taken
    }

    /// Puts those of the taken rooms back that are not finished, behind the others of their sort.
    pub(super) fn put_back(&self, taken: &Taken, unfinished: &[ChatId]) {
        let mut rooms = self.rooms();
        for (index, room) in taken.rooms.iter().enumerate().filter(|(_, room)| unfinished.contains(room)) {
            let line = if index < taken.fresh { &mut rooms.fresh } else { &mut rooms.backlog };
            line.push(*room);
        }
    }

    /// The number of rooms.
    pub(super) fn len(&self) -> usize {
        let rooms = self.rooms();
        rooms.fresh.order.len() + rooms.backlog.order.len()
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
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
