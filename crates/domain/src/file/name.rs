//! The name of a file.

use crate::text::TextFault;

/// Characters that turn the direction of the text after them: with one, a name can seem to have another ending. The marks
/// that names in Arabic or Hebrew contain are not among them.
const fn turns_text(char: char) -> bool {
    matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name of 1 to [`FileName::MAX_BYTES`] bytes, without control characters, text direction controls, path separators, or
/// white space at its ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileName(String);

impl FileName {
    /// The maximum number of bytes.
    pub const MAX_BYTES: usize = 255;

    /// Checks a name, and replaces each path separator by `_`.
    pub fn new(name: &str) -> Result<Self, TextFault> {
        let name = name.trim();
        if name.is_empty() {
            return Err(TextFault::Blank);
        }
        if name.len() > Self::MAX_BYTES {
            return Err(TextFault::Malformed { expected: "must be at most 255 bytes of UTF-8" });
        }
        if name.chars().any(char::is_control) {
            return Err(TextFault::ControlCharacter);
        }
        if name.chars().any(turns_text) {
            return Err(TextFault::Malformed { expected: "must not contain text direction controls" });
        }
        Ok(Self(name.replace(['/', '\\'], "_")))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name.
    pub fn into_string(self) -> String {
        self.0
    }
}
