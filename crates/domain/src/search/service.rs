//! Use cases: searching, and keeping the index.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::port::{INDEXED_AT_ONCE, IndexStep, MessageSearch, SearchRepository};
use super::query::SearchQuery;
use super::queue::{IndexQueue, Taken};
use super::walk::Hit;
use crate::caller::Caller;
use crate::id::ChatId;
use crate::page::{Page, PageRequest};
use crate::ports::Clock;
use crate::store::StoreError;
use crate::time::Timestamp;

/// The maximum number of rooms in a step.
const ROOMS_AT_ONCE: usize = 32;

/// The number of rooms that wait to be indexed before the walk over all rooms goes on.
const ROOMS_WAITING: usize = 15_000;

/// The time between two walks over all rooms. They find what was stored by a server that ended before it indexed it, by a
/// command, or by an earlier version.
const WALK_EVERY: Duration = Duration::from_secs(60);

/// Use cases on searching.
pub struct SearchService {
    store: Arc<dyn SearchRepository>,
    queue: Arc<IndexQueue>,
    clock: Arc<dyn Clock>,
    walk: Mutex<Walk>,
    /// The maximum number of messages of the next step: fewer after the store has failed, since it may have taken too long.
    most: AtomicUsize,
}

/// A walk over all rooms.
#[derive(Clone, Copy, Default)]
struct Walk {
    /// The last examined room.
    after: Option<ChatId>,
    /// The number of messages that were found not to be indexed.
    behind: u64,
    /// The time of the next walk, if the last one has ended.
    next_at: Option<Timestamp>,
}

/// What a step of indexing has done.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct IndexProgress {
    /// The number of messages that were indexed.
    pub messages: u64,
    /// The number of messages that were not indexed yet, if a walk over all rooms has ended.
    pub behind: Option<u64>,
    /// Set if there is nothing to do at the moment.
    pub is_idle: bool,
}

impl SearchService {
    /// Wires the area to its ports. `queue` knows the rooms with new messages.
    pub fn new(store: Arc<dyn SearchRepository>, queue: Arc<IndexQueue>, clock: Arc<dyn Clock>) -> Self {
        Self { store, queue, clock, walk: Mutex::default(), most: AtomicUsize::new(INDEXED_AT_ONCE) }
    }

    /// The messages that match, newest first. Pages are by cursor only, and can be shorter than requested although more
    /// follow. A message is found once it is indexed, usually within a second.
    pub async fn search(
        &self,
        caller: impl Into<Caller>,
        query: SearchQuery,
        page: &PageRequest,
    ) -> Result<Page<Hit>, StoreError> {
        let (after, limit) = (page.slice.after(), page.slice.limit());
        let viewer = caller.into().participant();
        self.store.search_messages(MessageSearch { viewer, query, after, limit }).await
    }

    /// Indexes a bounded batch. Every server on the store runs this.
    ///
    /// # Errors
    /// If the store fails. Rooms that cannot be indexed are left out until the next walk over all rooms, so that they do not
    /// keep others from being indexed.
    pub async fn index_some(&self) -> Result<IndexProgress, StoreError> {
        let taken = self.queue.take(ROOMS_AT_ONCE);
        let indexed = if taken.rooms.is_empty() {
            Ok(IndexStep::default())
        } else {
            self.index(taken.rooms.clone()).await
        };
        let messages = match indexed {
            Ok(step) => {
                self.queue.put_back(&taken, &step.unfinished);
                step.messages
            }
            Err(error @ StoreError::Unavailable(_)) => {
                self.queue.put_back(&taken, &taken.rooms);
                return Err(error);
            }
            Err(_) => self.index_one_by_one(&taken).await?,
        };
        if self.queue.len() > ROOMS_WAITING {
            return Ok(IndexProgress { messages, ..IndexProgress::default() });
        }
        let walked = self.walk_on().await?;
        Ok(IndexProgress { messages, is_idle: walked.is_idle && messages == 0, ..walked })
    }

    /// Indexes the next messages of rooms.
    async fn index(&self, rooms: Vec<ChatId>) -> Result<IndexStep, StoreError> {
        let most = self.most.load(Ordering::Relaxed);
        let indexed = self.store.index_rooms(rooms, most).await;
        let next = match indexed {
            Ok(_) => (most + 1).min(INDEXED_AT_ONCE),
            Err(_) => (most / 2).max(1),
        };
        self.most.store(next, Ordering::Relaxed);
        indexed
    }

    /// Indexes rooms of which one cannot be indexed.
    async fn index_one_by_one(&self, taken: &Taken) -> Result<u64, StoreError> {
        let (mut messages, mut fault) = (0, None);
        for room in &taken.rooms {
            match self.index(vec![*room]).await {
                Ok(step) => {
                    self.queue.put_back(taken, &step.unfinished);
                    messages += step.messages;
                }
                Err(error) => fault = Some(error),
            }
        }
        fault.map_or(Ok(messages), Err)
    }

    /// Examines the next rooms, if a walk over all of them is under way or due. Before it begins, entries of deleted rooms are
    /// erased.
    async fn walk_on(&self) -> Result<IndexProgress, StoreError> {
        let now = self.clock.steady();
        let walk = *self.walk.lock().unwrap_or_else(PoisonError::into_inner);
        if walk.next_at.is_some_and(|at| now < at) {
            // What is left in the queue is locked by another server.
            return Ok(IndexProgress { is_idle: true, ..IndexProgress::default() });
        }
        if walk.after.is_none() && self.store.erase_entries().await? {
            return Ok(IndexProgress::default());
        }
        let found = self.store.rooms_behind(walk.after).await?;
        let behind = walk.behind + found.rooms.iter().map(|(_, number)| number).sum::<u64>();
        self.queue.add(found.rooms.into_iter().map(|(room, _)| room));
        let is_over = found.last.is_none();
        let walk = if is_over {
            Walk { next_at: Some(now.plus(WALK_EVERY)), ..Walk::default() }
        } else {
            Walk { after: found.last, behind, next_at: None }
        };
        *self.walk.lock().unwrap_or_else(PoisonError::into_inner) = walk;
        Ok(IndexProgress { behind: is_over.then_some(behind), ..IndexProgress::default() })
    }
}
