//! Parts of long lists: by cursor (exact while others write) or by page number.
//!
//! A cursor names the last row the reader has seen, as a [`Position`] whose meaning belongs to
//! the list: a room's sequence number for messages, creation time and id for chats and agents.

use crate::words::words;

pub mod weight;

use uuid::Uuid;

/// Where a reader stands in a list: the sort key of the last row it has seen.
///
/// The key itself and not only the row, so that the reader goes on from the same place whatever
/// becomes of the row. `key` is the room's sequence number or a time in microseconds; `id` breaks
/// ties between equal keys and is nil where keys are unique.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// The sort key.
    pub key: i64,
    /// The sort key of a list that is sorted by a text; empty in all others.
    pub text: String,
    /// The tie-break.
    pub id: Uuid,
}

impl Position {
    /// In a list whose sort key is a number.
    pub const fn at(key: i64, id: Uuid) -> Self {
        Self { key, text: String::new(), id }
    }
}

words! {
    /// In which direction a list runs.
    #[derive(Default)]
    Order {
        /// Oldest first.
        #[default]
        Ascending = "asc",
        /// Newest first.
        Descending = "desc",
    }
}

/// How many bytes of content a page by cursor may hold. A page that would hold more ends earlier.
pub const PAGE_BYTES: usize = 1024 * 1024;

/// How many bytes of content a page may hold whose reader may go on by page number.
///
/// Such a page cannot end earlier without losing rows, because the next one begins at a fixed offset. It gets more
/// room than [`PAGE_BYTES`], so that readers with large messages keep their 100 rows on a page.
pub const NUMBERED_PAGE_BYTES: usize = 8 * PAGE_BYTES;

/// How many of the rows with these weights, in bytes, fit into `budget`, which is
/// [`PageRequest::max_bytes`] for a whole page; at least one, so that a reader always makes progress.
pub fn fitting(budget: usize, weights: impl IntoIterator<Item = usize>) -> usize {
    let mut sum = 0_usize;
    let fits = |weight: &usize| {
        let first = sum == 0;
        sum = sum.saturating_add((*weight).max(1));
        first || sum <= budget
    };
    weights.into_iter().take_while(fits).count()
}

/// Which part of a list is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    pub const fn limit(&self) -> u32 {
        match self {
            Self::After { limit, .. } => *limit,
            Self::Numbered { size, .. } => *size,
        }
    }

    /// Rows to pass over before the first wanted one.
    pub fn offset(&self) -> i64 {
        match self {
            Self::After { .. } => 0,
            Self::Numbered { number, size } => i64::from(number.saturating_sub(1)) * i64::from(*size),
        }
    }

    /// The position to start behind, if the slice is by cursor.
    pub fn after(&self) -> Option<Position> {
        match self {
            Self::After { after, .. } => after.clone(),
            Self::Numbered { .. } => None,
        }
    }
}

/// A slice, and whether the whole list must be counted for it.
///
/// Counting costs time in proportion to the list, so only readers that use page numbers ask.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageRequest {
    /// Which rows.
    pub slice: Slice,
    /// Whether [`Page::total`] is wanted.
    pub count: bool,
}

impl PageRequest {
    /// How many bytes of content the page may hold.
    pub const fn max_bytes(&self) -> usize {
        // Readers who say nothing get the totals too, and may go on with the second page by number.
        let may_go_on_by_number = self.count || matches!(self.slice, Slice::Numbered { .. });
        if may_go_on_by_number { NUMBERED_PAGE_BYTES } else { PAGE_BYTES }
    }
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
        request: &PageRequest,
        total: Option<u64>,
        position: impl Fn(&T) -> Position,
    ) -> Self {
        let limit = request.slice.limit() as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = if more { rows.last().map(position) } else { None };
        Self { rows, next, total }
    }

    /// Builds a page from the rows that it holds; `more` tells whether any follow.
    pub fn part(rows: Vec<T>, more: bool, total: Option<u64>, position: impl Fn(&T) -> Position) -> Self {
        let next = if more { rows.last().map(position) } else { None };
        Self { rows, next, total }
    }

    /// Whether the page ended before it had the rows that were asked for, because they weigh too
    /// much. Who goes on by cursor misses nothing; who counts pages would.
    pub fn is_cut(&self, request: &PageRequest) -> bool {
        self.next.is_some() && self.rows.len() < request.slice.limit() as usize
    }

    /// The same page with other rows.
    pub fn map<U>(self, convert: impl FnMut(T) -> U) -> Page<U> {
        Page { rows: self.rows.into_iter().map(convert).collect(), next: self.next, total: self.total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_before_it_weighs_too_much() {
        const HALF: usize = PAGE_BYTES / 2;
        assert_eq!(fitting(PAGE_BYTES, []), 0);
        assert_eq!(fitting(PAGE_BYTES, [0, 0, 0]), 3);
        assert_eq!(fitting(PAGE_BYTES, [HALF, HALF]), 2, "exactly as much as may be");
        assert_eq!(fitting(PAGE_BYTES, [HALF, HALF, 0]), 2);
        assert_eq!(fitting(PAGE_BYTES, [HALF + 1, HALF, 1]), 1);
        assert_eq!(fitting(PAGE_BYTES, [3 * PAGE_BYTES, 0]), 1, "a single row always fits");
        assert_eq!(fitting(PAGE_BYTES, [usize::MAX, usize::MAX]), 1);
    }

    #[test]
    fn only_pages_by_cursor_are_bounded_tightly() {
        let cursor = Slice::After { after: None, limit: 100 };
        let numbered = Slice::Numbered { number: 1, size: 100 };
        for (slice, count, bytes) in [
            (cursor.clone(), false, PAGE_BYTES),
            (cursor, true, NUMBERED_PAGE_BYTES),
            (numbered, true, NUMBERED_PAGE_BYTES),
        ] {
            assert_eq!(PageRequest { slice, count }.max_bytes(), bytes);
        }
    }

    #[test]
    fn a_cut_page_is_told_from_a_full_and_a_last_one() {
        let request = PageRequest { slice: Slice::After { after: None, limit: 3 }, count: false };
        let position = |key: &i64| Position::at(*key, Uuid::nil());
        assert!(Page::part(vec![1, 2], true, None, position).is_cut(&request));
        assert!(!Page::part(vec![1, 2, 3], true, None, position).is_cut(&request));
        assert!(!Page::part(vec![1, 2], false, None, position).is_cut(&request));
        assert_eq!(Page::part(vec![1, 2], true, None, position).next.map(|next| next.key), Some(2));
    }
}
