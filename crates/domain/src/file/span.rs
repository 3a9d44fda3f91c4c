//! Parts of a file.

/// A part of a file's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The first byte, counted from 0.
    pub start: u64,
    /// The number of bytes.
    pub length: u64,
}

impl Span {
    /// All of `bytes`.
    pub const fn whole(bytes: u64) -> Self {
        Self { start: 0, length: bytes }
    }
}

/// What the `Range` header of a download requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Requested {
    /// Everything: the header is missing or cannot be read.
    Whole,
    /// A part.
    Part(Span),
    /// A part that begins after the end.
    Beyond,
}

impl Requested {
    /// Reads `bytes=a-b`, `bytes=a-`, or `bytes=-n` for a file of this size. Anything else, several spans included, is
    /// ignored.
    pub fn parse(range: Option<&str>, bytes: u64) -> Self {
        Self::read(range, bytes).unwrap_or(Self::Whole)
    }

    fn read(range: Option<&str>, bytes: u64) -> Option<Self> {
        let (unit, span) = range?.trim().split_once('=')?;
        let (first, last) = span.trim().split_once('-')?;
        if !unit.trim().eq_ignore_ascii_case("bytes") {
            return None;
        }
        let (first, last) = (first.trim(), last.trim());
        if first.is_empty() {
            let length = number(last)?.min(bytes);
            let part = Span { start: bytes - length, length };
            return Some(if length == 0 { Self::Beyond } else { Self::Part(part) });
        }
        let start = number(first)?;
        let end = if last.is_empty() { u64::MAX } else { number(last)? };
        if end < start {
            return None;
        }
        if start >= bytes {
            return Some(Self::Beyond);
        }
        let end = end.min(bytes - 1);
        Some(Self::Part(Span { start, length: end - start + 1 }))
    }
}

/// Parses digits only; a number that is too large becomes `u64::MAX`.
fn number(digits: &str) -> Option<u64> {
    let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| digits.parse().unwrap_or(u64::MAX))
}
