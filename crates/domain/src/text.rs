//! What can be wrong with a text that somebody sent.

/// Why a text is refused. The edge names the property, this names the fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TextFault {
    /// Nothing but white space.
    #[error("can't be blank")]
    Blank,
    /// More characters than allowed.
    #[error("should be at most {max} character(s)")]
    TooManyChars {
        /// The limit, in Unicode scalar values.
        max: usize,
    },
    /// More bytes of UTF-8 than allowed.
    #[error("should be at most {max} byte(s)")]
    TooManyBytes {
        /// The limit, in bytes.
        max: usize,
    },
    /// A line break or another control character where one line is meant.
    #[error("must not contain control characters")]
    ControlCharacter,
    /// The character U+0000, which not every store can keep.
    #[error("must not contain the NUL character")]
    Nul,
    /// Not of the form that is meant, which the text tells.
    #[error("{expected}")]
    Malformed {
        /// What was expected, in words.
        expected: &'static str,
    },
}

/// Trims `text` and checks that 1 to `max_chars` characters without controls are left.
pub fn single_line(text: &str, max_chars: usize) -> Result<String, TextFault> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(TextFault::Blank);
    }
    if trimmed.chars().any(char::is_control) {
        return Err(TextFault::ControlCharacter);
    }
    if trimmed.chars().count() > max_chars {
        return Err(TextFault::TooManyChars { max: max_chars });
    }
    Ok(trimmed.to_owned())
}

/// Checks that `text` is not blank, can be stored and has at most `max_chars` characters; it is kept as it is.
pub fn bounded(text: String, max_chars: usize) -> Result<String, TextFault> {
    storable(&text)?;
    if text.chars().count() > max_chars {
        return Err(TextFault::TooManyChars { max: max_chars });
    }
    Ok(text)
}

/// Checks that `text` is not blank and holds no NUL.
pub fn storable(text: &str) -> Result<(), TextFault> {
    if text.trim().is_empty() { Err(TextFault::Blank) } else { without_nul(text) }
}

/// Checks that `text` holds no NUL.
pub fn without_nul(text: &str) -> Result<(), TextFault> {
    if text.contains('\0') { Err(TextFault::Nul) } else { Ok(()) }
}
