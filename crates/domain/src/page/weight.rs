//! How much of a page's bytes a row takes, about: what it is in an answer.

use crate::delivery::{SHOWN_ATTEMPTS, SHOWN_ERROR_BYTES};

/// Bytes of a message and of a delivery record in an answer, content aside.
pub const MESSAGE_BYTES: usize = 550;
/// See [`MESSAGE_BYTES`].
pub const RECORD_BYTES: usize = 200;
/// Bytes of a shown attempt: attempts are shown twice, with their errors.
pub const ATTEMPT_BYTES: usize = 2 * (160 + SHOWN_ERROR_BYTES);

/// A message of this content, with mentions and metadata of so many bytes as JSON. Mentions show handles
/// twice.
pub fn of_message(content: &str, mentions: usize, metadata: usize) -> usize {
    MESSAGE_BYTES + of_text(content) + 2 * mentions + metadata
}

/// A delivery record after so many attempts.
pub fn of_record(attempts: u32) -> usize {
    RECORD_BYTES + attempts.min(SHOWN_ATTEMPTS) as usize * ATTEMPT_BYTES
}

/// How long a text is as JSON, where a control character takes six bytes.
pub fn of_text(text: &str) -> usize {
    let more = |byte: u8| match byte {
        b'"' | b'\\' => 1,
        0..0x20 => 5,
        _ => 0,
    };
    text.len() + text.bytes().map(more).sum::<usize>()
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
    fn a_record_weighs_by_the_attempts_that_are_shown() {
        assert_eq!(of_record(0), RECORD_BYTES);
        assert_eq!(of_record(3), RECORD_BYTES + 3 * ATTEMPT_BYTES);
        assert_eq!(of_record(1_000_000), RECORD_BYTES + 50 * ATTEMPT_BYTES);
    }
}
