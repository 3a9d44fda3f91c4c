//! From candidates to a page of hits. Pure; the stores feed it with what they read.

use super::key::SearchPlace;
use super::message::SearchedMessage;
use super::port::MessageSearch;
use super::snippet::Snippet;
use crate::id::RecordId;
use crate::page::{Page, Position};

/// The maximum number of candidates that one request examines.
const EXAMINED: usize = 2_048;

/// The maximum size of the texts that one request examines, in bytes. The first text is examined in any case.
const EXAMINED_BYTES: usize = 2 * 1024 * 1024;

/// The maximum number of looks into the index by one request.
const LOOKS: usize = 64;

/// The minimum and the maximum number of candidates that are read at a time.
const AT_ONCE: (usize, usize) = (16, 32);

/// The maximum number that are read at a time if most are no hits and their texts are short.
const MANY_AT_ONCE: usize = 128;

/// The average size of short texts, in bytes.
const SHORT: usize = 1_024;

/// A message that a search has found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hit {
    /// The message.
    pub message: SearchedMessage,
    /// The title of its chat.
    pub title: Option<String>,
    /// Why it was found.
    pub snippet: Snippet,
    /// Its place in the store's index, which can differ from [`SearchedMessage::place`] if other messages have that.
    place: SearchPlace,
}

/// A search that reads candidates in the order of their places, newest first, until a page is full, no candidates are left,
/// or the request has examined enough. In the last case the page is shorter, perhaps empty, and has a cursor.
#[derive(Debug)]
pub struct SearchWalk {
    search: MessageSearch,
    hits: Vec<Hit>,
    /// The place before which candidates were not examined.
    place: SearchPlace,
    examined: usize,
    bytes: usize,
    looks: usize,
    /// Set if no candidates are left.
    is_exhausted: bool,
}

impl SearchWalk {
    /// Begins behind the last row of the page before.
    pub fn begin(search: MessageSearch) -> Self {
        let (_, before) = search.query.span();
        let place = search.after.as_ref().map_or(before, |after| before.min(SearchPlace::new(after.key)));
        Self { search, hits: Vec::new(), place, examined: 0, bytes: 0, looks: 0, is_exhausted: false }
    }

    /// The search.
    pub const fn search(&self) -> &MessageSearch {
        &self.search
    }

    /// The place before which the next candidates are.
    pub const fn place(&self) -> SearchPlace {
        self.place
    }

    /// The number of candidates to read next; `None` if the page is complete.
    pub fn wanted(&self) -> Option<usize> {
        let missing = (self.search.limit as usize + 1).saturating_sub(self.hits.len());
        let is_over = missing == 0
            || self.is_exhausted
            || self.looks > LOOKS
            || self.examined >= EXAMINED
            || self.bytes >= EXAMINED_BYTES;
        let for_each_hit = self.examined / (self.hits.len() + 1);
        let are_short = self.examined > 0 && self.bytes / self.examined <= SHORT;
        let most = if are_short { MANY_AT_ONCE } else { AT_ONCE.1 };
        (!is_over).then(|| (2 * missing * for_each_hit.max(1)).clamp(AT_ONCE.0, most))
    }

    /// Counts a look into the index; returns whether the page needs one.
    pub fn look(&mut self) -> bool {
        self.looks += 1;
        self.wanted().is_some()
    }

    /// Examines the candidate with this place; `read` is its message with the title of the chat, if it exists and the viewer
    /// may read the chat.
    pub fn examine(&mut self, place: SearchPlace, read: Option<(SearchedMessage, Option<String>)>) {
        if self.wanted().is_none() {
            return;
        }
        self.place = place;
        self.examined += 1;
        let Some((message, title)) = read else { return };
        self.bytes += message.text.len();
        if !message.is_readable_by(self.search.viewer) {
            return;
        }
        if let Some(ranges) = self.search.query.find_in(&message, title.as_deref()) {
            let snippet = Snippet::of(&message.text, &ranges);
            self.hits.push(Hit { message, title, snippet, place });
        }
    }

    /// Notes that there are no candidates before this place.
    pub fn pass(&mut self, place: SearchPlace) {
        if self.wanted().is_some() {
            self.place = self.place.min(place);
        }
    }

    /// Notes that no candidates are left.
    pub fn exhaust(&mut self) {
        self.is_exhausted = self.wanted().is_some();
    }

    /// The page.
    pub fn end(mut self) -> Page<Hit> {
        let limit = self.search.limit as usize;
        let position = |place: SearchPlace| Position::at(place.number(), RecordId::NIL);
        let next = if self.hits.len() > limit {
            self.hits.truncate(limit);
            self.hits.last().map(|hit| position(hit.place))
        } else {
            (!self.is_exhausted).then(|| position(self.place))
        };
        Page { rows: self.hits, next, total: None }
    }
}
