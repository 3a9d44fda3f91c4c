//! Rooms that somebody else holds: a change of another process that takes long, or hangs.
//!
//! Their messages are written apart from the others, room by room, so that only they wait. Who comes while a
//! room's first messages wait for it queues behind them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};
use uuid::Uuid;

use super::append::{Job, QUEUE};
use crate::error::crowded;

/// The messages of rooms that are held.
pub(super) struct Aside {
    rooms: Mutex<Rooms>,
    /// One for each room that may wait on a connection at the same time.
    lanes: Semaphore,
}

#[derive(Default)]
struct Rooms {
    waiting: HashMap<Uuid, Vec<Job>>,
    /// How many messages that are.
    messages: usize,
}

/// A room that is written apart, until this is dropped.
pub(super) struct Lane<'a> {
    aside: &'a Aside,
    room: Uuid,
    over: bool,
}

impl Aside {
    /// Of so many connections at most a quarter waits for rooms, so that the others go on.
    pub(super) fn of(connections: usize) -> Self {
        Self { rooms: Mutex::default(), lanes: Semaphore::new((connections / 4).max(1)) }
    }

    /// Gives the message back unless its room is written apart.
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

    /// Has these, all of one room, written apart. `true` if the room was not yet: somebody must then take its
    /// lane.
    pub(super) fn set(&self, room: Uuid, jobs: Vec<Job>) -> bool {
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

    /// The lane of a room that was just set aside.
    pub(super) const fn lane(&self, room: Uuid) -> Lane<'_> {
        Lane { aside: self, room, over: false }
    }

    /// Waits until one more room may wait on a connection.
    pub(super) async fn permit(&self) -> SemaphorePermit<'_> {
        self.lanes.acquire().await.expect("it is never closed")
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane<'_> {
    /// What waits now; who comes later queues here still. `None` when nothing waits: then the room goes with all
    /// the others again, and may soon have a lane of somebody else.
    pub(super) fn next(&mut self) -> Option<Vec<Job>> {
        let mut rooms = self.aside.rooms();
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

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        // Nobody is left waiting if the work on them panicked: an answer that is dropped is one.
        while !self.over {
            drop(self.next());
        }
    }
}
