//! Contents: validation, and the rewriting of names in a text to `@[[id]]`.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::erase_texts::ERASED;
use super::mention::{Mention, MentionKind};
use super::model::MessageKind;
use crate::text::{TextFault, bounded, is_invisible, storable};

/// The content of a text: not blank, at most 524,288 bytes.
///
/// A blank text only contains characters of the Unicode property `White_Space`; zero-width
/// characters count as content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageContent(String);

impl MessageContent {
    /// The maximum number of bytes of UTF-8; markers that the server prepends do not count.
    pub const MAX_BYTES: usize = 524_288;

    /// Checks the text, which is kept unchanged.
    pub fn new(text: String) -> Result<Self, TextFault> {
        storable(&text)?;
        if text.len() > Self::MAX_BYTES {
            return Err(TextFault::TooManyBytes { max: Self::MAX_BYTES });
        }
        Ok(Self(text))
    }

    /// The content of an erased text.
    pub(super) fn erased() -> Self {
        Self(ERASED.to_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The content of an event: not blank, at most 16,384 characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventContent(String);

impl EventContent {
    /// The maximum number of characters.
    pub const MAX_CHARS: usize = 16_384;

    /// Checks the text, which is kept unchanged.
    pub fn new(text: String) -> Result<Self, TextFault> {
        bounded(text, Self::MAX_CHARS).map(Self)
    }

    /// The stored text of an event of this kind.
    ///
    /// An event has no mentions, so in prose every marker with an id gets a backslash, as in
    /// [`stored_text`]. Content for programs stays unchanged: tool calls, their results, and JSON.
    pub fn stored_in(self, kind: MessageKind) -> String {
        let is_for_programs = matches!(kind, MessageKind::ToolCall | MessageKind::ToolResult);
        if is_for_programs || !self.0.contains('@') || is_json(&self.0) {
            return self.0;
        }
        replace_tokens(&self.0, &[], &[], &mut [])
    }
}

/// Free-form data of an event: a JSON object of at most 65,536 bytes, without the members `cause`,
/// `delegation`, and `origin`, which are reserved for the server.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EventMetadata(Map<String, Value>);

impl EventMetadata {
    /// The maximum number of bytes as JSON.
    pub const MAX_BYTES: usize = 65_536;

    /// The members that only the server makes.
    pub const RESERVED: [&'static str; 4] = ["cause", "delegation", "origin", "traceparent"];

    /// Checks the size, and removes reserved members.
    pub fn new(mut members: Map<String, Value>) -> Result<Self, TextFault> {
        let bytes = serde_json::to_string(&members).map_or(usize::MAX, |text| text.len());
        if bytes > Self::MAX_BYTES {
            return Err(TextFault::TooManyBytes { max: Self::MAX_BYTES });
        }
        for reserved in Self::RESERVED {
            members.remove(reserved);
        }
        Ok(Self(members))
    }

    /// One member.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The members, owned.
    pub fn into_map(self) -> Map<String, Value> {
        self.0
    }
}

/// The stored text for `content`: handles and names of mentioned participants become `@[[id]]`, and
/// mentions that do not occur in the text are prepended.
///
/// Longer tokens are tried first, so that `@john` never matches the beginning of `@john/bot`.
/// References are replaced but not prepended.
///
/// A marker that the sender typed is kept if the message mentions its id. Any other marker with an
/// id gets a backslash, `@\[[id]]`, so that readers and clients see that it is no mention; so does
/// one that only looks like a marker because it contains invisible characters.
pub fn stored_text(content: &MessageContent, mentions: &[Mention]) -> String {
    if mentions.is_empty() && !content.0.contains('@') {
        return content.0.clone();
    }
    let mut tokens = mentions
        .iter()
        .enumerate()
        .flat_map(|(index, m)| [(m.handle.as_str(), index), (m.name.as_str(), index)])
        .filter(|(token, _)| !token.is_empty())
        .collect::<Vec<_>>();
    // Stable: of equal tokens the first mention's wins, and a handle takes precedence over a name.
    tokens.sort_by_key(|(token, _)| std::cmp::Reverse(token.len()));

    let mut named = vec![false; mentions.len()];
    let body = replace_tokens(&content.0, &tokens, mentions, &mut named);

    let mut stored = String::with_capacity(body.len() + Mention::MARKER_BYTES + 1);
    for (mention, named) in mentions.iter().zip(&named) {
        if !named && mention.kind == MentionKind::Mention {
            stored.push_str(&mention.marker());
            stored.push(' ');
        }
    }
    stored.push_str(&body);
    stored
}

/// The beginning of a marker.
const OPENING: &str = "@[[";

/// The maximum length of a marker, in visible characters.
const MAX_MARKER_CHARS: usize = 128;

/// Returns whether the text is a JSON object or array.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok()
}

fn replace_tokens(text: &str, tokens: &[(&str, usize)], mentions: &[Mention], named: &mut [bool]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut previous = None;
    while let Some(at) = rest.find('@') {
        out.push_str(&rest[..at]);
        let before = rest[..at].chars().next_back().or(previous);
        let tail = &rest[at..];
        let consumed = if let Some(typed) = existing_marker(tail, mentions) {
            match typed.names {
                Some(index) => named[index] = true,
                None if typed.has_id => out.push_str("@\\"),
                None => out.push('@'),
            }
            out.push_str(&tail[usize::from(typed.names.is_none())..typed.length]);
            typed.length
        } else if let Some((length, index)) = matching_token(&tail[1..], before, tokens) {
            named[index] = true;
            out.push_str(&mentions[index].marker());
            1 + length
        } else {
            out.push('@');
            1
        };
        previous = tail[..consumed].chars().next_back();
        rest = &tail[consumed..];
    }
    out.push_str(rest);
    out
}

/// A marker that the sender typed.
struct TypedMarker {
    /// The length in bytes.
    length: usize,
    /// The index of its mention, if there is one.
    names: Option<usize>,
    /// Set if it contains an id, of any participant.
    has_id: bool,
}

/// The marker at the beginning of `tail`, as a reader sees it. An opening inside is examined on its
/// own, so that a text full of openings is read once.
fn existing_marker(tail: &str, mentions: &[Mention]) -> Option<TypedMarker> {
    if !opens(tail) {
        return None;
    }
    let mut id = String::new();
    for (at, c) in visible(tail).skip(OPENING.len()).take(MAX_MARKER_CHARS) {
        if c == '@' && opens(&tail[at..]) {
            return None;
        }
        id.push(c);
        if let Some(inner) = id.strip_suffix("]]") {
            let length = at + c.len_utf8();
            let is_exact = length == OPENING.len() + id.len();
            let is_named = |mention: &Mention| is_exact && mention.id.to_string().eq_ignore_ascii_case(inner);
            let names = mentions.iter().position(is_named);
            return Some(TypedMarker { length, names, has_id: Uuid::try_parse(inner.trim()).is_ok() });
        }
    }
    None
}

fn opens(text: &str) -> bool {
    visible(text).map(|(_, c)| c).take(OPENING.len()).eq(OPENING.chars())
}

fn visible(text: &str) -> impl Iterator<Item = (usize, char)> {
    text.char_indices().filter(|(_, c)| !is_invisible(*c))
}

/// The longest token at the beginning of `tail` with a boundary on both sides.
fn matching_token(tail: &str, before: Option<char>, tokens: &[(&str, usize)]) -> Option<(usize, usize)> {
    if before.is_some_and(is_handle_char) {
        return None;
    }
    tokens.iter().find_map(|(token, index)| {
        let length = prefix_ignoring_case(tail, token)?;
        ends_at_boundary(&tail[length..]).then_some((length, *index))
    })
}

/// The number of bytes of `text` that match `token`, ignoring case.
fn prefix_ignoring_case(text: &str, token: &str) -> Option<usize> {
    let mut chars = text.char_indices();
    for wanted in token.chars() {
        let (_, c) = chars.next()?;
        if c != wanted && !c.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    Some(chars.next().map_or(text.len(), |(at, _)| at))
}

fn ends_at_boundary(after: &str) -> bool {
    let mut chars = after.chars();
    match chars.next() {
        None => true,
        Some('.') => !chars.next().is_some_and(char::is_alphanumeric),
        Some(c) => !is_handle_char(c),
    }
}

fn is_handle_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '/' | '-')
}

#[cfg(test)]
mod tests;
