//! A piece of a transcript in words, before it is written as Markdown or HTML.

use std::borrow::Cow;

use crate::id::MessageId;
use crate::time::Timestamp;

/// A piece of a line.
pub(super) enum Span {
    /// Words of the server.
    Said(Cow<'static, str>),
    /// Words of somebody else, such as a name: they are shown on one line, and never as markup.
    Written(String),
    /// An id, a handle, or a digest.
    Code(String),
    /// A point in time.
    Time(Timestamp),
    /// A message of the transcript, or of another room.
    Message(MessageId),
}

/// A line of spans.
pub(super) type Line = Vec<Span>;

/// What is below a heading.
pub(super) enum Block {
    /// A list.
    Lines(Vec<Line>),
    /// A text of several lines, with a label. It is never interpreted.
    Text { label: Option<Line>, text: String, kind: TextKind },
}

/// What a text is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    Prose,
    Json,
    Table,
}

/// A heading, and what is below it.
pub(super) struct Section {
    /// The level of the heading, from 1.
    pub(super) level: usize,
    /// The message that it is about.
    pub(super) message: Option<MessageId>,
    pub(super) heading: Line,
    pub(super) blocks: Vec<Block>,
}

pub(super) fn said(text: impl Into<Cow<'static, str>>) -> Span {
    Span::Said(text.into())
}

/// A time as people read it.
pub(super) fn time(at: Timestamp) -> String {
    at.to_string().replace('T', " ").replace('Z', " UTC")
}

/// A text with line feeds at the ends of its lines, and with symbols for control characters: they would change what a
/// terminal shows.
pub(super) fn visible(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { shown(c) }).collect()
}

/// A text on one line.
pub(super) fn on_one_line(text: &str) -> String {
    text.split_whitespace().map(|word| word.chars().map(shown).collect()).collect::<Vec<String>>().join(" ")
}

fn shown(c: char) -> char {
    match c {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\x7f' => '\u{2421}',
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}
