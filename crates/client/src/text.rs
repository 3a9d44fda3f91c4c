//! Texts of others, for a terminal.
//!
//! A control character in a text could move the cursor, change the window's title, or type for its reader, and characters
//! that change the direction of writing could make a text look like another. Each is replaced by `U+FFFD`.

use std::fmt::Write;

/// The length of a marker, `@[[` with an id and `]]`, in bytes.
const MARKER_BYTES: usize = 41;

/// A text that keeps its lines and tabs, and nothing else that a terminal interprets.
pub fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars()
        .map(|c| if is_hostile(c) && !matches!(c, '\n' | '\t') { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

/// A text on one line: line breaks and tabs become spaces.
pub fn on_one_line(text: &str) -> String {
    clean(text).replace(['\n', '\t'], " ")
}

/// JSON in which strings hold no control characters: those that JSON allows are escaped.
pub fn in_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_hostile(c) {
            // All of them are in the basic plane, and writing into a text cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns whether a terminal would interpret the character instead of showing it, or write in another direction.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text with `@` and the handle for the marker of each mention whose id has one, and `@[[` where somebody typed that.
pub(crate) fn with_handles<'h>(text: &str, handle: impl Fn(&str) -> Option<&'h str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        out.push_str(&rest[..=at]);
        let after = &rest[at..];
        let marker = after.get(..MARKER_BYTES).filter(|it| it.starts_with("@[[") && it.ends_with("]]"));
        if let Some(handle) = marker.and_then(|marker| handle(&marker[3..MARKER_BYTES - 2])) {
            out.push_str(handle);
            rest = &after[MARKER_BYTES..];
        } else if after.starts_with("@\\[[") {
            rest = &after[2..];
        } else {
            rest = &after[1..];
        }
    }
    out.push_str(rest);
    out
}

/// A text without the marker of `id` at its start, which the server puts there if the text did not have one.
pub(crate) fn without_address<'a>(text: &'a str, id: &str) -> &'a str {
    let marker = format!("@[[{id}]]");
    text.strip_prefix(&marker).map_or(text, |rest| rest.trim_start_matches([' ', ',', ':', '\n']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_nothing_to_interpret() {
        assert_eq!(
            clean("a\u{1b}]0;title\u{7}b\rc\u{9b}2J\u{202e}d\u{7f}"),
            "a\u{fffd}]0;title\u{fffd}b\u{fffd}c\u{fffd}2J\u{fffd}d\u{fffd}"
        );
        assert_eq!(clean("one\r\ntwo\tthree 👩‍🔧 é 李"), "one\ntwo\tthree 👩‍🔧 é 李");
        assert_eq!(on_one_line("one\ntwo\tthree\u{1b}"), "one two three\u{fffd}");
        for c in (0..=0x2069).filter_map(char::from_u32) {
            let shown = on_one_line(&c.to_string());
            assert!(!shown.contains(char::is_control), "{c:?}");
        }
    }

    #[test]
    fn json_escapes_what_serde_leaves() {
        let value = serde_json::json!({ "text": "a\u{1b}[2J\u{9b}2J\u{7f}\u{202e} é" });
        let text = in_json(&value.to_string());
        assert!(text.contains("\\u001b[2J\\u009b2J\\u007f\\u202e é"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn markers_become_handles_once() {
        let id = "0190c5a4-0000-7000-8000-0000000000a1";
        // A handle cannot look like a marker; even so, it is not read again.
        let handle = format!("x@[[{id}]]");
        let known = |mentioned: &str| (mentioned == id).then_some(handle.as_str());
        let text = format!("é @[[{id}]] @[[0190c5a4-0000-7000-8000-0000000000a2]] @\\[[typed]] @ a@b");
        let shown = format!("é @x@[[{id}]] @[[0190c5a4-0000-7000-8000-0000000000a2]] @[[typed]] @ a@b");
        assert_eq!(with_handles(&text, known), shown);
        assert_eq!(with_handles("@[[ééééééééééééééééééééééé", known), "@[[ééééééééééééééééééééééé");
        assert_eq!(without_address(&format!("@[[{id}]], yes: it is"), id), "yes: it is");
        assert_eq!(without_address("yes", id), "yes");
    }
}
