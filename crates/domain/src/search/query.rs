//! Queries: words, phrases, and filters, and which messages they match. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::key::{IndexKeys, SearchKey, SearchPlace};
use super::message::SearchedMessage;
use super::token::{Token, tokens};
use crate::account::normalize_handle;
use crate::id::{ChatId, ParticipantId};
use crate::message::MessageKind;
use crate::time::Timestamp;
use crate::words::words;

/// The maximum number of words and phrases of a query.
const MAX_TERMS: usize = 16;

/// The maximum number of tokens in all words and phrases of a query.
const MAX_PIECES: usize = 32;

words! {
    /// A filter of a query, written as `name:value`.
    SearchFilter {
        /// The handle of the sender.
        From = "from",
        /// The id or the title of a room.
        In = "in",
        /// The kind of message.
        Kind = "kind",
        /// A date or a time: earlier messages.
        Before = "before",
        /// A date or a time: messages from then on.
        After = "after",
    }
}

/// The reason why a query was not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum QueryFault {
    /// Nothing to search for.
    #[error("is empty: enter a word, a \"phrase\", or one of from:, in:, and kind:")]
    Blank,
    /// More than [`SearchQuery::MAX_CHARS`].
    #[error("should be at most {} character(s)", SearchQuery::MAX_CHARS)]
    TooLong,
    /// Too many words and phrases.
    #[error("should have at most {} words and phrases, with {} words in all", MAX_TERMS, MAX_PIECES)]
    TooManyTerms,
    /// A filter without a value.
    #[error("needs a value for `{}:`. To search for the word, put it in quotes", .0.as_str())]
    NoValue(SearchFilter),
    /// A filter was given twice.
    #[error("has `{}:` more than once", .0.as_str())]
    Repeated(SearchFilter),
    /// No kind of message.
    #[error("has an unknown kind. Use one of {}", MessageKind::WORDS.join(", "))]
    UnknownKind,
    /// Neither a date nor a time.
    #[error("needs a date for `{}:`, such as 2026-07-01, or a time, such as 2026-07-01T12:00:00Z", .0.as_str())]
    MalformedTime(SearchFilter),
}

/// The room of a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RoomName {
    /// The room with this id.
    Id(ChatId),
    /// The rooms with this title, in lower case.
    Title(String),
}

impl RoomName {
    /// Returns whether a room has the name.
    pub fn is_of(&self, chat: ChatId, title: Option<&str>) -> bool {
        match self {
            Self::Id(id) => *id == chat,
            Self::Title(wanted) => title.is_some_and(|title| title.trim().to_lowercase() == *wanted),
        }
    }
}

/// What is searched for.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SearchQuery {
    text: String,
    terms: Vec<Term>,
    from: Option<String>,
    room: Option<RoomName>,
    kind: Option<MessageKind>,
    before: Option<Timestamp>,
    after: Option<Timestamp>,
}

/// A word or a phrase: tokens that follow one another.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Term(Vec<Piece>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Piece {
    token: String,
    /// Set if it begins with the last part of the piece before it, instead of behind it.
    overlaps: bool,
}

/// The tokens of a text that a query has, by their place and text.
type Found<'t> = HashMap<(usize, &'t str), &'t Token>;

/// A part of the text of a query.
enum Part<'t> {
    Filter(SearchFilter, &'t str),
    Text(&'t str),
}

impl SearchQuery {
    /// The maximum number of characters of a query.
    pub const MAX_CHARS: usize = 500;

    /// Reads a query. A quote that is not closed ends with the query; a colon behind anything but the name of a
    /// [filter](SearchFilter) has no meaning.
    ///
    /// # Errors
    /// The first fault, see [`QueryFault`].
    pub fn parse(text: &str) -> Result<Self, QueryFault> {
        if text.chars().count() > Self::MAX_CHARS {
            return Err(QueryFault::TooLong);
        }
        let mut query = Self { text: text.to_owned(), ..Self::default() };
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (part, behind) = first_part(rest);
            match part {
                Part::Text(text) => query.terms.extend(Term::of(text)),
                Part::Filter(filter, value) => query.set(filter, value.trim())?,
            }
            rest = behind.trim_start();
        }
        let pieces = query.terms.iter().map(|term| term.0.len()).sum::<usize>();
        if query.terms.len() > MAX_TERMS || pieces > MAX_PIECES {
            return Err(QueryFault::TooManyTerms);
        }
        let is_blank =
            query.terms.is_empty() && query.from.is_none() && query.room.is_none() && query.kind.is_none();
        if is_blank { Err(QueryFault::Blank) } else { Ok(query) }
    }

    fn set(&mut self, filter: SearchFilter, value: &str) -> Result<(), QueryFault> {
        if value.is_empty() {
            return Err(QueryFault::NoValue(filter));
        }
        let time = || parse_time(value).ok_or(QueryFault::MalformedTime(filter));
        let is_repeated = match filter {
            SearchFilter::From => self.from.replace(normalize_handle(value)).is_some(),
            SearchFilter::In => {
                let title = || RoomName::Title(value.to_lowercase());
                self.room.replace(ChatId::parse(value).map_or_else(title, RoomName::Id)).is_some()
            }
            SearchFilter::Kind => {
                let kind = MessageKind::parse(&value.to_ascii_lowercase()).ok_or(QueryFault::UnknownKind)?;
                self.kind.replace(kind).is_some()
            }
            SearchFilter::Before => self.before.replace(time()?).is_some(),
            SearchFilter::After => self.after.replace(time()?).is_some(),
        };
        if is_repeated { Err(QueryFault::Repeated(filter)) } else { Ok(()) }
    }

    /// The query as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The room, if only messages of one are searched.
    pub const fn room(&self) -> Option<&RoomName> {
        self.room.as_ref()
    }

    /// The places of the messages that the times of the query select: from the first one, before the second one.
    pub fn span(&self) -> (SearchPlace, SearchPlace) {
        let from = self.after.map_or(SearchPlace::new(0), SearchPlace::at);
        (from, self.before.map_or(SearchPlace::END, SearchPlace::at))
    }

    /// The keys of every message that the viewer can find, at least one; `rooms` are those in which the viewer searches, if
    /// they are known and few.
    pub fn keys(&self, viewer: ParticipantId, rooms: &[ChatId]) -> IndexKeys {
        let pieces = self.terms.iter().flat_map(|term| &term.0).map(|piece| SearchKey::token(&piece.token));
        let from = self.from.as_deref().map(SearchKey::sender);
        let kind = self.kind.map(SearchKey::kind);
        let reader = viewer.agent().map(SearchKey::reader);
        let mut all = pieces.chain(from).chain(kind).chain(reader).collect::<Vec<_>>();
        all.sort_unstable();
        all.dedup();
        let mut any = rooms.iter().copied().map(SearchKey::room).collect::<Vec<_>>();
        if all.is_empty() && any.is_empty() {
            any.extend(MessageKind::ALL.map(SearchKey::kind));
        }
        IndexKeys { all, any }
    }

    /// Where the words and phrases are in the text of a message, in bytes; `None` if the message does not match. This is what
    /// decides, whatever an index says.
    pub fn find_in(&self, message: &SearchedMessage, title: Option<&str>) -> Option<Vec<(usize, usize)>> {
        let is_from = |handle: &String| message.sender_handle.as_ref() == Some(handle);
        let is_wanted = self.from.as_ref().is_none_or(is_from)
            && self.room.as_ref().is_none_or(|room| room.is_of(message.chat, title))
            && self.kind.is_none_or(|kind| kind == message.kind)
            && self.before.is_none_or(|before| message.created_at < before)
            && self.after.is_none_or(|after| message.created_at >= after);
        if is_wanted { self.ranges(&message.text) } else { None }
    }

    fn ranges(&self, text: &str) -> Option<Vec<(usize, usize)>> {
        if self.terms.is_empty() {
            return Some(Vec::new());
        }
        let wanted = self.terms.iter().flat_map(|term| &term.0).map(|piece| piece.token.as_str());
        let wanted = wanted.collect::<HashSet<_>>();
        let mut tokens = tokens(text);
        tokens.retain(|token| wanted.contains(token.text.as_str()));
        let found =
            tokens.iter().map(|token| ((token.at, token.text.as_str()), token)).collect::<Found<'_>>();
        let mut ranges = Vec::new();
        for term in &self.terms {
            let before = ranges.len();
            ranges.extend(tokens.iter().filter_map(|token| term.range_from(token, &found)));
            if ranges.len() == before {
                return None;
            }
        }
        ranges.sort_unstable();
        Some(ranges)
    }
}

impl Term {
    /// The term that a text between quotes or white space means; `None` if it has no tokens.
    fn of(text: &str) -> Option<Self> {
        let tokens = tokens(text);
        let mut longest = BTreeMap::<usize, &Token>::new();
        for token in &tokens {
            let known = longest.entry(token.at).or_insert(token);
            if token.parts > known.parts {
                *known = token;
            }
        }
        let (mut pieces, mut at, mut overlaps) = (Vec::new(), 0, false);
        while let Some(token) = longest.get(&at) {
            pieces.push(Piece { token: token.text.clone(), overlaps });
            // Of a dense script, every pair is a piece.
            let is_pair = |token: &Token| token.is_dense && token.parts > 1;
            overlaps = is_pair(token) && longest.get(&(at + 1)).is_some_and(|next| is_pair(next));
            at += if overlaps { 1 } else { token.parts };
        }
        (!pieces.is_empty()).then_some(Self(pieces))
    }

    /// The range of the text that matches from this token on.
    fn range_from(&self, first: &Token, found: &Found<'_>) -> Option<(usize, usize)> {
        let (head, tail) = self.0.split_first()?;
        if head.token != first.text {
            return None;
        }
        let mut last = first;
        for piece in tail {
            let at = if piece.overlaps { last.at + 1 } else { last.at + last.parts };
            last = found.get(&(at, piece.token.as_str()))?;
        }
        Some((first.start, last.end))
    }
}

/// The first part of a text that does not begin with white space, and what is behind it.
fn first_part(text: &str) -> (Part<'_>, &str) {
    let filter = text
        .split_once(':')
        .and_then(|(name, value)| Some((SearchFilter::parse(&name.to_ascii_lowercase())?, value)));
    if let Some((filter, value)) = filter {
        let (value, behind) = first_value(value);
        return (Part::Filter(filter, value), behind);
    }
    let (text, behind) = first_value(text);
    (Part::Text(text), behind)
}

/// The text between quotes with which a text begins, or what precedes the next white space or quote; and what is behind it.
fn first_value(text: &str) -> (&str, &str) {
    let is_quote = |c: char| matches!(c, '"' | '\u{201c}' | '\u{201d}' | '\u{201e}');
    match text.strip_prefix(is_quote) {
        Some(quoted) => quoted.split_once(is_quote).unwrap_or((quoted, "")),
        None => text.split_at(text.find(|c: char| c.is_whitespace() || is_quote(c)).unwrap_or(text.len())),
    }
}

/// A time, or the beginning of a day, UTC.
fn parse_time(text: &str) -> Option<Timestamp> {
    Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}T00:00:00Z")))
}
