//! A look at a body before it is parsed: how deep it goes and how many values it holds.
//!
//! Parsed values take many times the room of their text; the bounds keep a small hostile body
//! from becoming a large one in memory.

use crate::error::{ApiError, ErrorCode};

/// Deeper than this no body that makes sense goes.
const MAX_DEPTH: usize = 64;

/// More values than the largest free-form object of an event can hold.
const MAX_VALUES: usize = 40_000;

/// Refuses what is too deep (400) or holds too many values (422). What is no JSON passes: the
/// parser says better what is wrong with it.
pub(super) fn check(bytes: &[u8]) -> Result<(), ApiError> {
    let (mut depth, mut values, mut in_text, mut escaped) = (0_usize, 0_usize, false, false);
    for byte in bytes {
        if in_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'[' | b'{' => {
                depth += 1;
                values += 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(ApiError::new(ErrorCode::BadRequest, "The body is nested too deeply"));
        }
        if values > MAX_VALUES {
            return Err(ApiError::validation().with_detail("", "holds too many values"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> Option<ErrorCode> {
        check(text.as_bytes()).err().map(|error| error.code())
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(outcome(&nested(64)), None);
        assert_eq!(outcome(&nested(65)), Some(ErrorCode::BadRequest));
        assert_eq!(outcome(&format!("[{}0]", "0,".repeat(39_999))), None);
        assert_eq!(outcome(&format!("[{}0]", "0,".repeat(40_000))), Some(ErrorCode::ValidationError));
    }

    #[test]
    fn brackets_and_commas_in_texts_do_not_count() {
        let text = format!(r#"{{"content":"{}\"{}"}}"#, "[".repeat(100), ",".repeat(50_000));
        assert_eq!(outcome(&text), None);
    }
}
