//! Passes the client's data to the framework one request at a time.
//!
//! On its own the framework reads and decodes all requests that a client has sent ahead, one for
//! every eighteen bytes, and writes the responses into its buffer, read or not. Data after a
//! request therefore waits here until the response to that request was written, and no more is read
//! from the client meanwhile.
//!
//! This only searches for the ends of requests, and never refuses one. If it is mistaken about an
//! end, the framework gets a little more or less at a time, and parses it by its own rules.

use http_wire::turn::{RequestBody, Turn};
use tokio::io::ReadBuf;

/// The data that a connection has read, and the state of what the framework has received.
#[derive(Debug, Default)]
pub(super) struct Intake {
    /// The turn of the connection.
    pub(super) turn: Turn,
    /// Data that must wait.
    held: Vec<u8>,
    head: LineScan,
    /// The number of bytes passed after the end of a head.
    beyond_head: u64,
    /// Set if a head was passed, which the framework must decode before it gets more.
    is_whole: bool,
    body: Body,
}

/// The body of the request that is being handled.
#[derive(Debug, Default)]
enum Body {
    #[default]
    Over,
    Length(u64),
    Chunked(ChunkScan),
    Open,
}

/// The data that may be read now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// The next data.
    More,
    /// Nothing until the framework has processed its data.
    Look,
    /// Nothing until the response was written.
    Nothing,
}

impl Intake {
    /// The data that the framework may receive now.
    pub(super) fn wanted(&mut self) -> Wanted {
        if std::mem::take(&mut self.is_whole) {
            return Wanted::Look;
        }
        if let Some(body) = self.turn.take_body() {
            self.body = self.rest_of(body);
        }
        if self.turn.is_client_turn() {
            return Wanted::More;
        }
        match &self.body {
            Body::Over | Body::Length(0) => Wanted::Nothing,
            Body::Length(_) | Body::Chunked(_) | Body::Open => Wanted::More,
        }
    }

    /// The body of a request that has begun, without the part that was passed with the head.
    fn rest_of(&mut self, body: RequestBody) -> Body {
        let beyond = std::mem::take(&mut self.beyond_head);
        match body {
            RequestBody::Length(length) => Body::Length(length.saturating_sub(beyond)),
            RequestBody::Chunked => Body::Chunked(ChunkScan::default()),
            RequestBody::Open => Body::Open,
        }
    }

    /// Returns whether data is waiting.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Passes on the waiting data that the framework may receive.
    pub(super) fn give(&mut self, into: &mut ReadBuf<'_>) {
        let before = into.filled().len();
        let most = self.held.len().min(into.remaining());
        into.put_slice(&self.held[..most]);
        let given = self.accept(&into.filled()[before..]);
        into.set_filled(before + given);
        self.held.drain(..given);
        if self.held.is_empty() {
            self.held = Vec::new();
        }
    }

    /// Handles the data that was read into `into` after `before`; data that the framework may not
    /// receive yet is kept.
    pub(super) fn took(&mut self, into: &mut ReadBuf<'_>, before: usize) {
        let given = self.accept(&into.filled()[before..]);
        self.held.extend_from_slice(&into.filled()[before + given..]);
        into.set_filled(before + given);
    }

    /// The number of these bytes that the framework gets now; at least one if there are any.
    fn accept(&mut self, bytes: &[u8]) -> usize {
        if self.turn.is_client_turn() {
            return self.accept_head(bytes);
        }
        match &mut self.body {
            Body::Length(left) => {
                let given = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= given as u64;
                given
            }
            Body::Chunked(scan) => match scan.end(bytes) {
                Some(end) => {
                    self.body = Body::Over;
                    end
                }
                None => bytes.len(),
            },
            Body::Over | Body::Open => bytes.len(),
        }
    }

    /// The head of one request, with what may be its body: data without another end of a head that
    /// does not begin like chunks, which must be followed from the first one on.
    fn accept_head(&mut self, bytes: &[u8]) -> usize {
        let Some(end) = self.head.end(bytes) else { return bytes.len() };
        self.is_whole = true;
        let rest = &bytes[end..];
        let is_ahead =
            rest.first().is_some_and(u8::is_ascii_hexdigit) || LineScan::default().end(rest).is_some();
        let given = if is_ahead { end } else { bytes.len() };
        self.beyond_head = (given - end) as u64;
        self.head = LineScan::default();
        given
    }
}

/// Searches for the empty line at the end of a head, ignoring empty lines before it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum LineScan {
    /// Before the first line.
    #[default]
    Before,
    /// In a line.
    Line,
    /// After the end of a line.
    Start,
    /// After the end of a line and a carriage return.
    Return,
}

impl LineScan {
    /// The index after the end, if it was found.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (index, byte) in bytes.iter().enumerate() {
            *self = match (*self, byte) {
                (Self::Start | Self::Return, b'\n') => return Some(index + 1),
                (Self::Before, b'\r' | b'\n') => Self::Before,
                (Self::Line, b'\n') => Self::Start,
                (Self::Start, b'\r') => Self::Return,
                _ => Self::Line,
            };
        }
        None
    }
}

/// Searches for the end of a chunked body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ChunkScan {
    /// In the line with a chunk's size, with a flag for the end of the digits.
    Size(u64, bool),
    /// In a chunk and its line end, with the number of bytes left.
    Data(u64),
    /// After the last chunk, with a flag for a line that has begun.
    Trailer(bool),
    /// Malformed; the framework will refuse it.
    Broken,
}

impl Default for ChunkScan {
    fn default() -> Self {
        Self::Size(0, false)
    }
}

impl ChunkScan {
    /// The index after the end, if it was found.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut index = 0;
        while index < bytes.len() {
            let byte = bytes[index];
            index += 1;
            *self = match *self {
                Self::Size(0, _) if byte == b'\n' => Self::Trailer(false),
                Self::Size(size, _) if byte == b'\n' => Self::Data(size.saturating_add(2)),
                Self::Size(size, false) => match char::from(byte).to_digit(16) {
                    Some(digit) => match size.checked_mul(16) {
                        Some(size) => Self::Size(size + u64::from(digit), false),
                        None => Self::Broken,
                    },
                    None => Self::Size(size, true),
                },
                Self::Data(left) => {
                    let there = (bytes.len() - index + 1) as u64;
                    let taken = left.min(there);
                    index += usize::try_from(taken).unwrap_or(usize::MAX) - 1;
                    if taken == left { Self::default() } else { Self::Data(left - taken) }
                }
                Self::Trailer(false) if byte == b'\n' => return Some(index),
                Self::Trailer(_) if byte == b'\n' => Self::Trailer(false),
                Self::Trailer(begun) => Self::Trailer(begun || byte != b'\r'),
                size @ Self::Size(_, true) => size,
                Self::Broken => return None,
            };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_head_is_found_wherever_it_is_cut() {
        for (text, end) in [
            ("GET / HTTP/1.1\r\nhost: x\r\n\r\nGET", Some(27)),
            ("\r\n\r\nGET / HTTP/1.1\r\n\r\n", Some(22)),
            ("GET / HTTP/1.1\n\nrest", Some(16)),
            ("GET / HTTP/1.1\n\r\nrest", Some(17)),
            ("GET / HTTP/1.1\r\nhost: x\r\n", None),
            ("\n\n\n", None),
        ] {
            for cut in 0..text.len() {
                let (first, second) = text.as_bytes().split_at(cut);
                let mut scan = LineScan::default();
                let found = scan.end(first).or_else(|| scan.end(second).map(|end| cut + end));
                assert_eq!(found, end, "{text:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn the_end_of_chunks_is_found_wherever_it_is_cut() {
        for (text, end) in [
            ("5\r\n0\r\n\r\n\r\n0\r\n\r\nGET", Some(15)),
            ("A;x=y\r\n0123456789\r\n00\r\n\r\n", Some(25)),
            ("0\r\na: b\r\n\r\nGET", Some(11)),
            ("3\r\nabc\r\n", None),
            ("fffffffffffffffffff\r\n0\r\n\r\n", None),
        ] {
            for cut in 0..text.len() {
                let (first, second) = text.as_bytes().split_at(cut);
                let mut scan = ChunkScan::default();
                let found = scan.end(first).or_else(|| scan.end(second).map(|end| cut + end));
                assert_eq!(found, end, "{text:?} cut at {cut}");
            }
        }
    }

    /// Passes on all data, and returns what the framework got.
    fn given(intake: &mut Intake) -> String {
        let mut room = [0; 8192];
        let mut into = ReadBuf::new(&mut room);
        intake.give(&mut into);
        String::from_utf8(into.filled().to_vec()).unwrap()
    }

    #[test]
    fn what_was_sent_ahead_is_given_one_by_one() {
        let head = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
        let mut intake = Intake { held: head.repeat(3).into_bytes(), ..Intake::default() };
        for _ in 0..3 {
            assert_eq!(intake.wanted(), Wanted::More);
            assert_eq!(given(&mut intake), head);
            assert_eq!(intake.wanted(), Wanted::Look);
        }
        assert!(!intake.holds());
    }

    #[test]
    fn a_body_that_came_along_is_given_along() {
        let request = "POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\n{  }";
        let mut intake = Intake { held: request.as_bytes().to_vec(), ..Intake::default() };
        assert_eq!(given(&mut intake), request);
        assert_eq!(intake.beyond_head, 4);
        assert!(matches!(intake.rest_of(RequestBody::Length(10)), Body::Length(6)));
    }
}
