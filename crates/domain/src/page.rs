//! Pages of long lists: by cursor (exact while others write) or by page number.
//!
//! A cursor identifies the last row that the reader has seen, as a [`Position`] whose meaning
//! belongs to the list: a chat's sequence for messages, creation time and id for chats and agents.

use crate::words::words;

pub mod weight;

use crate::id::RecordId;

/// The position of a reader in a list: the sort key of the last row that was read.
///
/// It contains the key itself and not only the row, so that the reader continues from the same
/// position whatever happens to the row. `key` is the chat's sequence or a time in microseconds; `id`
/// breaks ties between equal keys and is nil if keys are unique.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// The sort key.
    pub key: i64,
    /// The sort key of a list that is sorted by a text; empty in all others.
    pub text: String,
    /// The tie-break.
    pub id: RecordId,
}

impl Position {
    /// A position in a list with a numeric sort key.
    pub fn at(key: i64, id: impl Into<RecordId>) -> Self {
        Self { key, text: String::new(), id: id.into() }
    }

    /// A position in a list that is sorted by a unique text.
    pub const fn by_text(text: String) -> Self {
        Self { key: 0, text, id: RecordId::NIL }
    }
}

words! {
    /// The direction of a list.
    #[derive(Default)]
    Order {
        /// Oldest first.
        #[default]
        Ascending = "asc",
        /// Newest first.
        Descending = "desc",
    }
}

/// The maximum size of contents on a page by cursor, in bytes. A page that would exceed it ends
/// earlier.
pub const PAGE_BYTES: usize = 1024 * 1024;

/// The maximum size of contents on a page whose reader may continue by page number.
///
/// Such a page cannot end earlier without losing rows, because the next one begins at a fixed
/// offset. It gets more room than [`PAGE_BYTES`], so that readers with large messages keep their
/// 100 rows on a page.
pub const NUMBERED_PAGE_BYTES: usize = 8 * PAGE_BYTES;

/// The number of rows with these weights, in bytes, that fit into `budget`, which is
/// [`PageRequest::max_bytes`] for a whole page; at least one, so that a reader always makes
/// progress.
pub fn fitting(budget: usize, weights: impl IntoIterator<Item = usize>) -> usize {
    let mut sum = 0_usize;
    let fits = |weight: &usize| {
        let first = sum == 0;
        sum = sum.saturating_add((*weight).max(1));
        first || sum <= budget
    };
    weights.into_iter().take_while(fits).count()
}

/// The requested part of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Slice {
    /// The first `limit` rows after `after` (from the start when `None`).
    After {
        /// The position of the reader.
        after: Option<Position>,
        /// The maximum number of rows, for clients 1 to 100.
        limit: u32,
    },
    /// Page `number` (from 1) of pages of `size` rows.
    Numbered {
        /// The number, from 1.
        number: u32,
        /// Rows on a page, 1 to 100.
        size: u32,
    },
}

impl Slice {
    /// The maximum number of rows of this slice.
    pub const fn limit(&self) -> u32 {
        match self {
            Self::After { limit, .. } => *limit,
            Self::Numbered { size, .. } => *size,
        }
    }

    /// The number of rows to skip.
    pub fn offset(&self) -> i64 {
        match self {
            Self::After { .. } => 0,
            Self::Numbered { number, size } => i64::from(number.saturating_sub(1)) * i64::from(*size),
        }
    }

    /// The position to start after, if the slice is by cursor.
    pub fn after(&self) -> Option<Position> {
        match self {
            Self::After { after, .. } => after.clone(),
            Self::Numbered { .. } => None,
        }
    }
}

/// A slice, and whether the whole list must be counted for it.
///
/// Counting costs time in proportion to the list, so only readers that use page numbers request it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageRequest {
    /// The requested rows.
    pub slice: Slice,
    /// Set if [`Page::total`] is requested.
    pub count: bool,
}

impl PageRequest {
    /// The maximum size of contents on the page, in bytes.
    pub const fn max_bytes(&self) -> usize {
        // Without parameters, readers get the totals too, and may continue with the second page by
        // number.
        let may_go_on_by_number = self.count || matches!(self.slice, Slice::Numbered { .. });
        if may_go_on_by_number { NUMBERED_PAGE_BYTES } else { PAGE_BYTES }
    }
}

/// A part of a list.
#[derive(Clone, PartialEq, Debug)]
pub struct Page<T> {
    /// The rows, in the list's order.
    pub rows: Vec<T>,
    /// The position of the last row of `rows`, if more rows follow it.
    pub next: Option<Position>,
    /// The number of rows of the whole list; `None` unless requested.
    pub total: Option<u64>,
}

impl<T> Page<T> {
    /// Makes a page from `limit + 1` fetched rows: the extra one only shows that there are more.
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

    /// Makes a page from all rows behind the position of the request, of a list that is searched row by row.
    pub fn of_all(rows: Vec<T>, request: &PageRequest, position: impl Fn(&T) -> Position) -> Self {
        let total = request.count.then_some(rows.len() as u64);
        let passed = usize::try_from(request.slice.offset()).unwrap_or(usize::MAX);
        let rows = rows.into_iter().skip(passed).take(request.slice.limit() as usize + 1).collect();
        Self::from_overfetch(rows, request, total, position)
    }

    /// Makes a page from its rows; `more` is set if others follow.
    pub fn part(rows: Vec<T>, more: bool, total: Option<u64>, position: impl Fn(&T) -> Position) -> Self {
        let next = if more { rows.last().map(position) } else { None };
        Self { rows, next, total }
    }

    /// Returns whether the page ended before it had all requested rows, because they are too large.
    /// A reader by cursor misses nothing; one by page number would.
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
    fn a_page_of_all_rows_is_cut_out() {
        let position = |key: &i64| Position::at(*key, RecordId::NIL);
        let page = |slice, count| Page::of_all(vec![1, 2, 3, 4, 5], &PageRequest { slice, count }, position);
        let second = page(Slice::Numbered { number: 2, size: 2 }, true);
        assert_eq!(
            (second.rows, second.next.map(|next| next.key), second.total),
            (vec![3, 4], Some(4), Some(5))
        );
        let last = page(Slice::Numbered { number: 3, size: 2 }, true);
        assert_eq!((last.rows, last.next, last.total), (vec![5], None, Some(5)));
        let first = page(Slice::After { after: None, limit: 4 }, false);
        assert_eq!((first.rows.len(), first.next.map(|next| next.key), first.total), (4, Some(4), None));
    }

    #[test]
    fn a_cut_page_is_told_from_a_full_and_a_last_one() {
        let request = PageRequest { slice: Slice::After { after: None, limit: 3 }, count: false };
        let position = |key: &i64| Position::at(*key, RecordId::NIL);
        assert!(Page::part(vec![1, 2], true, None, position).is_cut(&request));
        assert!(!Page::part(vec![1, 2, 3], true, None, position).is_cut(&request));
        assert!(!Page::part(vec![1, 2], false, None, position).is_cut(&request));
        assert_eq!(Page::part(vec![1, 2], true, None, position).next.map(|next| next.key), Some(2));
    }
}
