//! The part of a text that shows why it was found. Pure.

/// The maximum number of characters of a snippet, without its ellipses.
pub const SNIPPET_CHARS: usize = 240;

/// The maximum number of characters before the first match.
const LEAD_CHARS: usize = 60;

/// A part of a text, on one line, with `…` where the text goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snippet {
    /// The part.
    pub text: String,
    /// What matches in it, in order, without overlaps.
    pub highlights: Vec<Highlight>,
}

/// A range of a snippet, in characters (Unicode scalar values).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Highlight {
    /// The first character.
    pub start: usize,
    /// The character behind the last one.
    pub end: usize,
}

impl Snippet {
    /// The part of a text around the first of these ranges, which are in order and in bytes.
    pub fn of(text: &str, ranges: &[(usize, usize)]) -> Self {
        let first = ranges.first().map_or(0, |(start, _)| *start);
        let lead = text[..first].char_indices().rev().nth(LEAD_CHARS - 1).map_or(0, |(at, _)| at);
        // Not in the middle of a word, if there is a space to begin at.
        let space = |(at, space): (usize, char)| lead + at + space.len_utf8();
        let mut spaces = text[lead..first].char_indices().filter(|(_, c)| c.is_whitespace());
        let begin = if lead == 0 { 0 } else { spaces.next().map_or(lead, space) };
        let end = text[begin..].char_indices().nth(SNIPPET_CHARS).map_or(text.len(), |(at, _)| begin + at);
        let mut shown = String::new();
        if begin > 0 {
            shown.push('…');
        }
        let offset = shown.chars().count();
        shown.extend(text[begin..end].chars().map(|c| if c.is_control() { ' ' } else { c }));
        if end < text.len() {
            shown.push('…');
        }
        let place = |byte: usize| offset + text[begin..byte.clamp(begin, end)].chars().count();
        let mut highlights = Vec::<Highlight>::new();
        for (from, to) in ranges.iter().take_while(|(from, _)| *from < end) {
            let (start, end) = (place(*from), place(*to));
            match highlights.last_mut() {
                Some(last) if start <= last.end => last.end = last.end.max(end),
                _ => highlights.push(Highlight { start, end }),
            }
        }
        Self { text: shown, highlights }
    }
}
