//! The approximate size of a row in an answer, for the limit of a page.

use serde_json::{Map, Value};

use crate::delivery::{SHOWN_ATTEMPTS, SHOWN_ERROR_BYTES};

/// The size of a message in an answer, with its cause and without content.
pub const MESSAGE_BYTES: usize = 800;
/// The size of a delivery record in an answer, without attempts.
pub const RECORD_BYTES: usize = 200;
/// The size of a shown attempt: attempts are shown twice, with their errors.
pub const ATTEMPT_BYTES: usize = 2 * (160 + SHOWN_ERROR_BYTES);

/// The size of a file in an answer.
const FILE_BYTES: usize = 500;

/// The size of this many files of a message.
pub const fn of_files(count: usize) -> usize {
    count * FILE_BYTES
}

/// The size of a message with this content, and with mentions and metadata of these sizes as JSON.
/// Mentions show handles twice.
pub fn of_message(content: &str, mentions: usize, metadata: usize) -> usize {
    MESSAGE_BYTES + of_text(content) + 2 * mentions + metadata
}

/// The size of a delivery record with this number of attempts.
pub fn of_record(attempts: u32) -> usize {
    RECORD_BYTES + attempts.min(SHOWN_ATTEMPTS) as usize * ATTEMPT_BYTES
}

/// The size of a text as JSON, where a control character takes six bytes.
pub fn of_text(text: &str) -> usize {
    let more = |byte: u8| match byte {
        b'"' | b'\\' => 1,
        0..0x20 => 5,
        _ => 0,
    };
    text.len() + text.bytes().map(more).sum::<usize>()
}

/// The approximate size of a JSON value, without what escapes add.
pub fn of_json(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| of_json(item) + 1).sum::<usize>() + 2,
        Value::Object(members) => of_members(members),
    }
}

/// See [`of_json`].
pub fn of_members(members: &Map<String, Value>) -> usize {
    members.iter().map(|(name, value)| name.len() + of_json(value) + 4).sum::<usize>() + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_weigh_what_they_take_as_json() {
        for text in ["", "plain", "ä\u{1F600}", "\"quoted\" \\ back", "\u{1}\u{1f}"] {
            assert_eq!(of_text(text) + 2, serde_json::to_string(text).unwrap().len(), "{text:?}");
        }
        assert!(of_text("a\nb\tc") >= serde_json::to_string("a\nb\tc").unwrap().len() - 2);
    }

    #[test]
    fn values_weigh_about_what_they_take_as_json() {
        let value =
            serde_json::json!({"name": "x".repeat(900), "of": ["a", null, 1, true], "in": {"it": "y"}});
        let (weight, size) = (of_json(&value), value.to_string().len());
        assert!(weight.abs_diff(size) < 30, "{weight} of {size}");
    }

    #[test]
    fn a_record_weighs_by_the_attempts_that_are_shown() {
        assert_eq!(of_record(0), RECORD_BYTES);
        assert_eq!(of_record(3), RECORD_BYTES + 3 * ATTEMPT_BYTES);
        assert_eq!(of_record(1_000_000), RECORD_BYTES + 50 * ATTEMPT_BYTES);
    }
}
