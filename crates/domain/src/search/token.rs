//! The tokens of a text: its words, folded, and the joined parts of its identifiers. Pure.
//!
//! A *part* is a word, a piece of an identifier such as `parseHttpRequest`, `parse_http_request`, or `parse-http.request`,
//! or a single character of a script that is written without spaces. Parts that belong together form a *chain*. Every part
//! is a token, and so is every run of parts in a chain, joined: of an identifier up to [`JOINED_PARTS`], of a dense
//! script two. So `httpRequest` and `HTTP_REQUEST` are the same token, and a part of the identifiers above.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The number of tokens of a text that are searched.
pub const SEARCHED_TOKENS: usize = 8_192;

/// The maximum number of joined parts of an identifier.
const JOINED_PARTS: usize = 6;

/// The maximum number of joined characters of a dense script.
const JOINED_CHARS: usize = 2;

/// The number of characters by which parts are told apart.
const PART_CHARS: usize = 64;

/// A token of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// The folded text.
    pub text: String,
    /// Its beginning in the text, in bytes.
    pub start: usize,
    /// Its end in the text, in bytes.
    pub end: usize,
    /// The index of its first part among all parts of the text.
    pub at: usize,
    /// The number of its parts.
    pub parts: usize,
    /// Set if its script is written without spaces.
    pub is_dense: bool,
}

/// What a character is to a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Of a script that is written without spaces.
    Dense,
    Upper,
    Lower,
    Digit,
    /// A letter without case.
    Letter,
    /// It belongs to the character before it.
    Attached,
    /// It joins parts of an identifier.
    Joiner,
    Other,
}

impl Class {
    fn of(c: char) -> Self {
        match c {
            '_' | '-' | '.' | '\'' | '\u{2019}' => Self::Joiner,
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            _ if c.is_ascii() => Self::Other,
            _ if is_ignored(c) || is_combining_mark(c) || is_half_width_mark(c) => Self::Attached,
            _ if !c.is_alphanumeric() => Self::Other,
            _ if is_dense(c) => Self::Dense,
            _ if c.is_uppercase() => Self::Upper,
            _ if c.is_lowercase() => Self::Lower,
            _ if c.is_numeric() => Self::Digit,
            _ => Self::Letter,
        }
    }
}

/// A part of a text.
struct Part<'t> {
    word: String,
    start: usize,
    end: usize,
    is_dense: bool,
    /// What stays between it and the part before it when they are joined.
    joint: &'t str,
}

/// The tokens of a text, at most [`SEARCHED_TOKENS`], by their ends.
pub fn tokens(text: &str) -> Vec<Token> {
    let classes = text.char_indices().map(|(at, c)| (at, Class::of(c))).collect::<Vec<_>>();
    let (mut found, mut chain) = (Vec::new(), Vec::<Part<'_>>::new());
    let (mut index, mut position) = (0, 0);
    while let Some((start, class)) = classes.get(index).copied() {
        let next = end_of_part(&classes, index);
        if next == index {
            index += 1;
            continue;
        }
        let end = classes.get(next).map_or(text.len(), |(at, _)| *at);
        index = next;
        let mut part =
            Part { word: folded(&text[start..end]), start, end, is_dense: class == Class::Dense, joint: "" };
        if part.word.is_empty() {
            continue;
        }
        match chain.last().and_then(|before| joint(text, before, &part)) {
            Some(joint) => part.joint = joint,
            None => chain.clear(),
        }
        let longest = if part.is_dense { JOINED_CHARS } else { JOINED_PARTS };
        chain.push(part);
        if chain.len() > longest {
            chain.remove(0);
        }
        let mut joined = String::new();
        for (parts, part) in (1..).zip(chain.iter().rev()) {
            if found.len() == SEARCHED_TOKENS {
                return found;
            }
            joined.insert_str(0, &part.word);
            let (at, text) = (position + 1 - parts, joined.clone());
            found.push(Token { text, start: part.start, end, at, parts, is_dense: part.is_dense });
            joined.insert_str(0, part.joint);
        }
        position += 1;
    }
    found
}

/// The index after the part that begins at `begin`; `begin` itself if none does.
fn end_of_part(classes: &[(usize, Class)], begin: usize) -> usize {
    let first = classes[begin].1;
    if matches!(first, Class::Attached | Class::Joiner | Class::Other) {
        return begin;
    }
    let (mut before, mut next) = (first, begin + 1);
    while let Some((_, class)) = classes.get(next).copied() {
        let continues = match class {
            Class::Attached => true,
            _ if first == Class::Dense => false,
            Class::Upper => {
                let mut following = classes[next + 1..].iter().map(|(_, class)| *class);
                let following = following.find(|class| *class != Class::Attached);
                let begins_word =
                    matches!(before, Class::Upper | Class::Digit) && following == Some(Class::Lower);
                !begins_word && before != Class::Lower
            }
            Class::Lower | Class::Digit | Class::Letter => true,
            Class::Dense | Class::Joiner | Class::Other => false,
        };
        if !continues {
            break;
        }
        if class != Class::Attached {
            before = class;
        }
        next += 1;
    }
    next
}

/// What stays between two parts if they are joined; `None` if they do not belong together. Only separators within numbers
/// stay.
fn joint<'t>(text: &'t str, before: &Part<'_>, part: &Part<'_>) -> Option<&'t str> {
    let between = &text[before.end..part.start];
    if before.is_dense != part.is_dense {
        return None;
    }
    if between.is_empty() {
        return Some("");
    }
    let mut chars = between.chars();
    let is_joiner = chars.next().is_some_and(|c| Class::of(c) == Class::Joiner) && chars.next().is_none();
    if part.is_dense || !is_joiner {
        return None;
    }
    let is_number =
        text[..before.end].ends_with(char::is_numeric) && text[part.start..].starts_with(char::is_numeric);
    Some(if is_number { between } else { "" })
}

/// A part without the differences that a search ignores: case, width, accents, and vowel signs that may be left out.
fn folded(part: &str) -> String {
    if part.is_ascii() {
        return part[..part.len().min(PART_CHARS)].to_ascii_lowercase();
    }
    let mut before = ' ';
    let folded = part.chars().take(4 * PART_CHARS).nfkd().filter(|c| {
        let base = std::mem::replace(&mut before, *c);
        // Й is another letter than И.
        let is_letter = *c == '\u{306}' && matches!(base, 'и' | 'И');
        !is_ignored(*c) && (is_letter || !is_accent(*c))
    });
    let folded = folded.flat_map(char::to_lowercase).flat_map(|c| plain(c).into_iter().flatten());
    folded.nfc().take(PART_CHARS).collect()
}

/// A letter that is written in several ways, as one of them.
const fn plain(c: char) -> [Option<char>; 2] {
    match c {
        'ς' => [Some('σ'), None],
        'ß' => [Some('s'), Some('s')],
        'æ' => [Some('a'), Some('e')],
        'œ' => [Some('o'), Some('e')],
        'ø' => [Some('o'), None],
        'ł' => [Some('l'), None],
        'đ' => [Some('d'), None],
        c => [Some(c), None],
    }
}

/// Returns whether the character is invisible in a word, or only stretches it.
const fn is_ignored(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{640}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0100}'..='\u{e01ef}'
    )
}

/// Returns whether the character is an accent, or a vowel sign of Hebrew or Arabic.
const fn is_accent(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c2}' | '\u{5c4}'..='\u{5c5}'
            | '\u{5c7}' | '\u{64b}'..='\u{65f}' | '\u{670}'
    )
}

/// Returns whether the character is a sound mark of half-width Katakana.
const fn is_half_width_mark(c: char) -> bool {
    matches!(c, '\u{ff9e}' | '\u{ff9f}')
}

/// Returns whether the script of a letter is written without spaces, or, as Hangul, with particles that are part of the
/// word.
const fn is_dense(c: char) -> bool {
    matches!(
        c,
        '\u{e00}'..='\u{fff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3100}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9d}'
            | '\u{20000}'..='\u{3fffd}'
    )
}
