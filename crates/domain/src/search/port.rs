//! The store of messages, as it is searched and indexed.

use async_trait::async_trait;

use super::key::{SearchKey, SearchPlace};
use super::message::SearchedMessage;
use super::query::SearchQuery;
use super::walk::Hit;
use crate::id::{ChatId, ParticipantId, Sequence};
use crate::page::{Page, Position, fitting};
use crate::store::StoreError;

/// The maximum number of rooms whose keys a search contains. Whoever has more rooms searches all of them, and the rooms of the
/// candidates are checked.
pub const MAX_ROOM_KEYS: usize = 256;

/// The maximum number of rooms of a viewer, the newest, whose titles are compared with that of a query.
pub const TITLED_ROOMS: usize = 10_000;

/// The maximum number of messages that are indexed in one transaction.
pub const INDEXED_AT_ONCE: usize = 128;

/// The number of keys after which a transaction that indexes messages ends.
const KEYS_AT_ONCE: usize = 8_192;

/// The size of the contents after which such a transaction reads no more, in bytes.
const BYTES_AT_ONCE: usize = 256 * 1024;

/// A search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageSearch {
    /// Who searches.
    pub viewer: ParticipantId,
    /// What is searched for.
    pub query: SearchQuery,
    /// Only hits behind this position of an earlier page.
    pub after: Option<Position>,
    /// The maximum number of hits.
    pub limit: u32,
}

/// The result of a step of indexing.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct IndexStep {
    /// The number of messages that were indexed.
    pub messages: u64,
    /// The rooms that have messages left to index, or that another server is indexing.
    pub unfinished: Vec<ChatId>,
}

/// Rooms in the order of their ids, of which some have messages that are not indexed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RoomsBehind {
    /// Those with messages that are not indexed, each with their number, or a larger one if some were deleted.
    pub rooms: Vec<(ChatId, u64)>,
    /// The last examined room; `None` if there are no more.
    pub last: Option<ChatId>,
}

/// A message to be indexed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexEntry {
    /// The chat.
    pub chat: ChatId,
    /// Its sequence.
    pub sequence: Sequence,
    /// Its place in the index.
    pub place: SearchPlace,
    /// Its keys.
    pub keys: Vec<SearchKey>,
}

/// The messages of one transaction that indexes.
#[derive(Debug)]
pub struct IndexBatch {
    /// The messages, in the order in which they were added.
    pub entries: Vec<IndexEntry>,
    /// The sequence up to which each room is indexed.
    pub rooms: Vec<(ChatId, Sequence)>,
    most: usize,
    keys: usize,
    bytes: usize,
    /// The rooms with messages left.
    pub unfinished: Vec<ChatId>,
}

impl IndexBatch {
    /// An empty batch for at most `most` messages, and never more than [`INDEXED_AT_ONCE`].
    pub fn up_to(most: usize) -> Self {
        let most = most.min(INDEXED_AT_ONCE);
        Self { entries: Vec::new(), rooms: Vec::new(), most, keys: 0, bytes: 0, unfinished: Vec::new() }
    }

    /// The number of messages to read next; 0 if the batch is full.
    pub fn wanted(&self) -> usize {
        if self.keys >= KEYS_AT_ONCE || self.bytes >= BYTES_AT_ONCE {
            0
        } else {
            self.most.saturating_sub(self.entries.len())
        }
    }

    /// The number of messages with contents of these sizes to read, in bytes; at least one.
    pub fn fitting(&self, sizes: impl IntoIterator<Item = i64>) -> usize {
        let sizes = sizes.into_iter().map(|size| usize::try_from(size).unwrap_or(0));
        fitting(BYTES_AT_ONCE.saturating_sub(self.bytes), sizes)
    }

    /// Adds the next messages of a room, whose last sequence is `last`; `is_cut` is set if there are more.
    pub fn add(&mut self, chat: ChatId, last: Sequence, messages: Vec<SearchedMessage>, is_cut: bool) {
        let mut reached = None;
        let mut rest = messages.into_iter();
        while self.keys < KEYS_AT_ONCE
            && let Some(message) = rest.next()
        {
            let keys = message.keys().into_iter().collect::<Vec<_>>();
            self.keys += keys.len();
            self.bytes += message.text.len();
            reached = Some(message.sequence);
            let (sequence, place) = (message.sequence, message.place());
            self.entries.push(IndexEntry { chat, sequence, place, keys });
        }
        if is_cut || rest.next().is_some() {
            self.rooms.extend(reached.map(|sequence| (chat, sequence)));
            self.unfinished.push(chat);
        } else {
            self.rooms.push((chat, last));
        }
    }

    /// Notes a room that was not indexed.
    pub fn leave(&mut self, chat: ChatId) {
        self.unfinished.push(chat);
    }

    /// The result.
    pub fn step(self) -> IndexStep {
        IndexStep { messages: self.entries.len() as u64, unfinished: self.unfinished }
    }
}

/// Searching and indexing messages.
#[async_trait]
pub trait SearchRepository: Send + Sync {
    /// The messages that match, newest first: of those that are indexed, in the chats that the viewer may
    /// [read](crate::chat::Standing::may_read), and for an agent only those that it sent or that are addressed to it. What one
    /// call examines is bounded, see [`SearchWalk`](super::SearchWalk).
    async fn search_messages(&self, search: MessageSearch) -> Result<Page<Hit>, StoreError>;

    /// Indexes the next messages of these rooms, in this order, in one transaction: at most `most` of them, within the bounds
    /// of [`IndexBatch`]. A deleted room is passed over. Several servers can do so at the same time, and none indexes a message
    /// twice; an edit or a deletion of a message meanwhile comes before or after it, never between reading and indexing the
    /// message.
    async fn index_rooms(&self, rooms: Vec<ChatId>, most: usize) -> Result<IndexStep, StoreError>;

    /// Examines the next rooms after this one, in the order of their ids: a bounded number.
    async fn rooms_behind(&self, after: Option<ChatId>) -> Result<RoomsBehind, StoreError>;

    /// Erases a bounded number of entries of deleted rooms; returns whether some may be left.
    async fn erase_entries(&self) -> Result<bool, StoreError>;
}
