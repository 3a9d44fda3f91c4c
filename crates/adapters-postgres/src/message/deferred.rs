//! Messages of chats whose rows another transaction has locked, for example a change of another
//! process that hangs.
//!
//! They are written apart from the others, chat by chat, so that only they wait. Further messages
//! of such a chat queue behind them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};
use uuid::Uuid;

use super::append::{Job, QUEUE};
use crate::error::crowded;

/// The queues of the locked chats.
pub(super) struct DeferredChats {
    rooms: Mutex<Rooms>,
    /// One for each chat that may wait on a connection at the same time.
    permits: Semaphore,
}

#[derive(Default)]
struct Rooms {
    waiting: HashMap<Uuid, Vec<Job>>,
    /// Number of messages in all queues.
    messages: usize,
}

/// The queue of a chat that is written apart, until this is dropped.
pub(super) struct ChatLane<'a> {
    deferred: &'a DeferredChats,
    room: Uuid,
    over: bool,
}

impl DeferredChats {
    /// At most a quarter of the connections waits for locked chats, so that the others remain available.
    pub(super) fn of(connections: usize) -> Self {
        Self { rooms: Mutex::default(), permits: Semaphore::new((connections / 4).max(1)) }
    }

    /// Queues the message if its chat is written apart; else returns it.
    pub(super) fn queue(&self, job: Job) -> Option<Job> {
        let mut rooms = self.rooms();
        if rooms.waiting.is_empty() {
            return Some(job);
        }
        let Rooms { waiting, messages } = &mut *rooms;
        let Some(queue) = waiting.get_mut(&job.0.chat.uuid()) else { return Some(job) };
        if *messages >= QUEUE {
            job.1.answer(Err(crowded()));
        } else {
            *messages += 1;
            queue.push(job);
        }
        None
    }

    /// Queues messages of one chat. Returns `true` if the chat was not written apart yet: the
    /// caller must then drain its lane.
    pub(super) fn defer(&self, room: Uuid, jobs: Vec<Job>) -> bool {
        let mut rooms = self.rooms();
        rooms.messages += jobs.len();
        match rooms.waiting.entry(room) {
            Entry::Occupied(queue) => {
                queue.into_mut().extend(jobs);
                false
            }
            Entry::Vacant(none) => {
                none.insert(jobs);
                true
            }
        }
    }

    /// The lane of a chat that was just deferred.
    pub(super) const fn lane(&self, room: Uuid) -> ChatLane<'_> {
        ChatLane { deferred: self, room, over: false }
    }

    /// Waits until one more chat may use a connection.
    pub(super) async fn permit(&self) -> SemaphorePermit<'_> {
        self.permits.acquire().await.expect("it is never closed")
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatLane<'_> {
    /// Takes the queued messages; further ones still queue here. `None` when the queue is empty:
    /// the chat is then written with the others again.
    pub(super) fn next(&mut self) -> Option<Vec<Job>> {
        let mut rooms = self.deferred.rooms();
        let jobs = rooms.waiting.get_mut(&self.room).map(std::mem::take).unwrap_or_default();
        rooms.messages -= jobs.len();
        if jobs.is_empty() {
            rooms.waiting.remove(&self.room);
            self.over = true;
            return None;
        }
        Some(jobs)
    }
}

impl Drop for ChatLane<'_> {
    fn drop(&mut self) {
        // If the writing panicked, dropping the replies answers the senders.
        while !self.over {
            drop(self.next());
        }
    }
}
