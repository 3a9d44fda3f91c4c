//! Announces the counts of tasks to the humans of their chats.
//!
//! The counts of a busy board change many times a second. The chats are therefore noted when their tasks change, and
//! announced together once in a while, with the counts of that moment.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::service::BoardService;
use super::task::Task;
use crate::event::DomainEvent;
use crate::id::ChatId;
use crate::ports::EventPublisher;
use crate::store::StoreError;

/// The number of chats that are read at once.
const AT_ONCE: usize = 100;

/// The chats whose counts have changed since they were announced.
pub struct CountedBoards {
    noted: Mutex<BTreeSet<ChatId>>,
    is_on: bool,
}

impl CountedBoards {
    /// None so far. Unless boards are on, nobody announces counts, and none are noted.
    pub const fn new(is_on: bool) -> Self {
        Self { noted: Mutex::new(BTreeSet::new()), is_on }
    }

    /// Notes the chat whose counts the event has changed, if there is one.
    pub fn note_event(&self, event: &DomainEvent) {
        if let DomainEvent::TaskCreated { task } | DomainEvent::TaskUpdated { task, has_moved: true } = event
            && self.is_on
        {
            self.note([task.chat]);
        }
    }

    fn note(&self, chats: impl IntoIterator<Item = ChatId>) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).extend(chats);
    }

    fn take(&self) -> Vec<ChatId> {
        let noted = std::mem::take(&mut *self.noted.lock().unwrap_or_else(PoisonError::into_inner));
        noted.into_iter().collect()
    }
}

impl BoardService {
    /// Announces the chats whose counts have changed since the last call to their humans.
    ///
    /// # Errors
    /// [`StoreError`] if they could not be read; the next call announces them.
    pub async fn announce_counts(&self) -> Result<(), StoreError> {
        let chats = self.counted.take();
        for (index, part) in chats.chunks(AT_ONCE).enumerate() {
            match self.boards.shown(part.to_vec()).await {
                Ok(mut rooms) => {
                    rooms.sort_unstable_by_key(|room| room.chat.id);
                    for room in rooms {
                        let (to, chat, details) = (room.users, room.chat, room.details);
                        self.events.publish(DomainEvent::RoomUpdated { to, chat, details });
                    }
                }
                Err(error) => {
                    self.counted.note(chats.iter().skip(index * AT_ONCE).copied());
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

/// Publishes the tasks from which participants that left were dropped.
pub(crate) fn publish_dropped(events: &dyn EventPublisher, dropped: &[Task]) {
    for task in dropped.iter().cloned() {
        events.publish(DomainEvent::TaskUpdated { task, has_moved: true });
    }
}
