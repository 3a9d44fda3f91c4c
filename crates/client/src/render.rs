//! Messages as lines for a terminal.

use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

use crate::feed::Shown;
use crate::model::Message;
use crate::text::{in_json, on_one_line};

/// Begins and ends bold text.
const BOLD: (&str, &str) = ("\u{1b}[1m", "\u{1b}[0m");

/// In front of all lines of a message but the first. A text cannot pass a line off as another message.
pub(crate) const INDENT: &str = "    ";

/// The most characters of an event that are shown. Its whole content is in the JSON.
const EVENT_CHARS: usize = 400;

/// How much of a time is shown. Times are UTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// Date and time to the second.
    Full,
    /// The time of day to the minute.
    Minutes,
}

/// How messages are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rendering {
    /// How much of a time.
    pub clock: Clock,
    /// Whether senders are bold.
    pub is_styled: bool,
}

/// A message in the parts that are shown, without anything that a terminal interprets.
pub(crate) struct Parts {
    /// The time, and the room if there are several.
    pub(crate) place: String,
    pub(crate) sender: String,
    /// The kind of an event in parentheses; empty for a text.
    pub(crate) kind: String,
    /// The text, and the names of files. The first line is behind the sender.
    pub(crate) lines: Vec<String>,
}

impl Rendering {
    /// The lines of a message, with a line break after each. On a terminal with this number of columns, none is longer: the
    /// terminal would go on at the beginning of the next row, where messages begin.
    pub fn lines(self, shown: &Shown, columns: Option<usize>) -> String {
        let lines = self.unwrapped(shown);
        columns.map_or_else(|| lines.clone(), |columns| wrapped(&lines, columns))
    }

    fn unwrapped(self, shown: &Shown) -> String {
        let (bold, plain) = if self.is_styled { BOLD } else { ("", "") };
        let Parts { place, sender, kind, lines } = self.parts(shown);
        let mut out = format!("{place} {bold}{sender}{plain}{kind}:");
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            if !line.is_empty() {
                // Writing into a text cannot fail.
                let _ = write!(out, "{}{line}", if index > 0 { INDENT } else { " " });
            }
        }
        out.push('\n');
        out
    }

    /// A message in the parts that are shown.
    pub(crate) fn parts(self, Shown { title, message }: &Shown) -> Parts {
        let mut place = self.time(&message.inserted_at);
        if let Some(title) = title {
            let _ = write!(place, " [{}]", on_one_line(title));
        }
        let kind = if message.is_text() {
            String::new()
        } else {
            format!(" ({})", on_one_line(&message.message_type))
        };
        let text = if message.is_text() { message.text() } else { shortened(&message.text()) };
        // A tab ends at the last column, so that what follows it would look like the beginning of a message.
        let text = text.replace('\t', "    ");
        let mut lines = text.trim_end().lines().map(str::to_owned).collect::<Vec<_>>();
        if lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(message.files().map(|name| format!("File: {}", on_one_line(name))));
        Parts { place, sender: sender(message), kind, lines }
    }

    /// A time in the form of the API, such as `2026-11-30T09:47:00.000000Z`.
    fn time(self, time: &str) -> String {
        let time = on_one_line(time);
        let seconds = time.split_once('.').map_or(time.trim_end_matches('Z'), |(seconds, _)| seconds);
        match self.clock {
            Clock::Full => format!("{seconds}Z"),
            Clock::Minutes => seconds.get(11..16).unwrap_or(seconds).to_owned(),
        }
    }
}

impl Shown {
    /// The message as one line of JSON: as the API has it, with `text`, its content with handles, and with `chat_title` if
    /// messages of several rooms are shown.
    pub fn json(&self) -> String {
        let mut value = self.message.raw.clone();
        value["text"] = self.message.text().into();
        if let Some(title) = &self.title {
            value["chat_title"] = title.as_str().into();
        }
        in_json(&value.to_string())
    }
}

/// Lines that are no longer than this number of columns. What goes on is indented.
fn wrapped(lines: &str, columns: usize) -> String {
    let columns = columns.max(2 * INDENT.len());
    let (mut out, mut used, mut is_style) = (String::with_capacity(lines.len()), 0, false);
    for c in lines.chars() {
        // Texts have no escapes, so each begins a style, which ends with `m` and takes no column.
        is_style |= c == '\u{1b}';
        let width = if is_style { 0 } else { c.width().unwrap_or(0) };
        is_style &= c != 'm';
        if c == '\n' {
            used = 0;
        } else if used + width > columns {
            out.push('\n');
            out.push_str(INDENT);
            used = INDENT.len() + width;
        } else {
            used += width;
        }
        out.push(c);
    }
    out
}

/// Handles are unique; names are whatever somebody has chosen.
fn sender(message: &Message) -> String {
    match &message.sender_handle {
        Some(handle) => format!("@{}", on_one_line(handle)),
        None => on_one_line(&message.sender_name),
    }
}

/// The beginning of the content of an event, on one line.
fn shortened(text: &str) -> String {
    let line = on_one_line(text);
    match line.char_indices().nth(EVENT_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::tests::{ANN, with};

    const TAIL: Rendering = Rendering { clock: Clock::Full, is_styled: false };

    fn shown(title: Option<&str>, message: Message) -> Shown {
        Shown { title: title.map(str::to_owned), message }
    }

    #[test]
    fn a_message_has_time_room_sender_and_text() {
        let mentions = json!({ "mentions": [{ "id": ANN, "handle": "ann", "kind": "mention" }] });
        let hello = with(&format!("@[[{ANN}]] hello\n\n2030-01-01T00:00:00Z @bob: forged\n"), mentions);
        assert_eq!(
            TAIL.lines(&shown(Some("Plan\u{1b}[31m\nB"), hello.clone()), None),
            "2026-11-30T09:00:00Z [Plan\u{fffd}[31m B] @ann/echo: @ann hello\n\n    2030-01-01T00:00:00Z @bob: forged\n"
        );
        let chat = Rendering { clock: Clock::Minutes, is_styled: true };
        let first = chat.lines(&shown(None, hello), None).lines().next().unwrap().to_owned();
        assert_eq!(first, "09:00 \u{1b}[1m@ann/echo\u{1b}[0m: @ann hello");
    }

    /// A long line could otherwise go on with what looks like another message.
    #[test]
    fn what_does_not_fit_into_a_row_is_indented() {
        let chat = Rendering { clock: Clock::Minutes, is_styled: true };
        let text = format!("{}09:00 @bob: forged 李李李李李", "x".repeat(20 - "09:00 @ann/echo: ".len()));
        let lines = chat.lines(&shown(None, with(&text, json!({}))), Some(20));
        let expected = "09:00 \u{1b}[1m@ann/echo\u{1b}[0m: xxx\n    09:00 @bob: forg\n    ed 李李李李李\n";
        assert_eq!(lines, expected);
        assert_eq!(wrapped("李李李李李\n", 3), "李李李李\n    李\n", "however narrow the terminal is");
    }

    #[test]
    fn an_event_is_one_line() {
        let event =
            Message { message_type: "tool_call".to_owned(), ..with(&"{\n\"é\"".repeat(200), json!({})) };
        let line = TAIL.lines(&shown(None, event), None);
        assert!(line.starts_with("2026-11-30T09:00:00Z @ann/echo (tool_call): { \"é\"{ "), "{line}");
        assert!(line.ends_with("…\n") && line.lines().count() == 1, "{line}");
    }

    #[test]
    fn json_is_the_message_of_the_api_with_its_text() {
        let message =
            Message { raw: json!({ "id": "m", "content": "a\u{9b}2J" }), ..with("a\u{9b}2J", json!({})) };
        let line = shown(Some("Plan"), message).json();
        assert!(!line.contains(char::is_control), "{line:?}");
        let expected =
            json!({ "id": "m", "content": "a\u{9b}2J", "text": "a\u{fffd}2J", "chat_title": "Plan" });
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), expected);
    }

    #[test]
    fn files_are_named() {
        let value = json!([{ "name": "a\u{7}.pdf" }]);
        let message = crate::model::tests::message(json!({
            "id": "m", "content": "see", "message_type": "text", "sender_id": "s", "sender_name": "E\u{1b}cho",
            "chat_room_id": "r", "inserted_at": "2026-11-30T09:00:00.000000Z", "sequence": 1, "metadata": {},
            "attachments": value,
        }));
        assert_eq!(
            TAIL.lines(&shown(None, message), None),
            "2026-11-30T09:00:00Z E\u{fffd}cho: see\n    File: a\u{fffd}.pdf\n"
        );
    }
}
