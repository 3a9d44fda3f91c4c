//! Parts of long lists: by cursor (exact while others write) or by page number.
//!
//! A cursor names the last row the reader has seen, as a [`Position`] whose meaning belongs to
//! the list: a room's sequence number for messages, creation time and id for chats and agents.

use uuid::Uuid;

/// Where a reader stands in a list: the sort key of the last row it has seen.
///
/// `key` is the room's sequence number or a time in microseconds; `id` breaks ties between
/// equal keys and is nil where keys are unique.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The sort key.
    pub key: i64,
    /// The tie-break.
    pub id: Uuid,
}

/// Which part of a list is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slice {
    /// The first `limit` rows after `after` (from the start when `None`).
    After {
        /// Where the reader stands.
        after: Option<Position>,
        /// How many rows at the most, 1 to 100.
        limit: u32,
    },
    /// Page `number` (from 1) of pages of `size` rows.
    Numbered {
        /// From 1.
        number: u32,
        /// Rows on a page, 1 to 100.
        size: u32,
    },
}

impl Slice {
    /// The most rows that this slice can hold.
    pub const fn limit(self) -> u32 {
        match self {
            Self::After { limit, .. } => limit,
            Self::Numbered { size, .. } => size,
        }
    }

    /// Rows to pass over before the first wanted one.
    pub fn offset(self) -> i64 {
        match self {
            Self::After { .. } => 0,
            Self::Numbered { number, size } => i64::from(number.saturating_sub(1)) * i64::from(size),
        }
    }

    /// The position to start behind, if the slice is by cursor.
    pub const fn after(self) -> Option<Position> {
        match self {
            Self::After { after, .. } => after,
            Self::Numbered { .. } => None,
        }
    }
}

/// A slice, and whether the whole list must be counted for it.
///
/// Counting costs time in proportion to the list, so only readers that use page numbers ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRequest {
    /// Which rows.
    pub slice: Slice,
    /// Whether [`Page::total`] is wanted.
    pub count: bool,
}

/// A part of a list.
#[derive(Clone, PartialEq, Debug)]
pub struct Page<T> {
    /// The rows, in the list's order.
    pub rows: Vec<T>,
    /// Where the last row of `rows` stands, when more rows follow it.
    pub next: Option<Position>,
    /// How many rows the whole list has; `None` unless it was asked for.
    pub total: Option<u64>,
}

impl<T> Page<T> {
    /// Builds a page from `limit + 1` fetched rows: the extra one only tells that there are more.
    pub fn from_overfetch(
        mut rows: Vec<T>,
        request: PageRequest,
        total: Option<u64>,
        position: impl Fn(&T) -> Position,
    ) -> Self {
        let limit = request.slice.limit() as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = if more { rows.last().map(position) } else { None };
        Self { rows, next, total }
    }

    /// The same page with other rows.
    pub fn map<U>(self, convert: impl FnMut(T) -> U) -> Page<U> {
        Page { rows: self.rows.into_iter().map(convert).collect(), next: self.next, total: self.total }
    }
}
