//! What the framework is given to read: one request at a time.
//!
//! Left to itself, it reads and decodes whatever a client has sent ahead, a request for every eighteen bytes, and
//! answers one after the other into its buffer, read or not. So what was read behind a request waits here until the
//! answer to that request has been written, and in the meantime no more is read from the client.
//!
//! This only looks for the ends of requests, and never refuses one. Where it is mistaken about an end, the framework
//! gets a little more or a little less at a time, and reads it by its own rules.

use http_wire::turn::{RequestBody, Turn};
use tokio::io::ReadBuf;

/// What a connection has read, and what the framework has been given of it.
#[derive(Debug, Default)]
pub(super) struct Intake {
    /// Whose turn it is.
    pub(super) turn: Turn,
    /// What was read and has to wait.
    held: Vec<u8>,
    head: LineScan,
    /// How many bytes were given behind the end of a head.
    beyond_head: u64,
    /// A head was given; the framework has to decode it before it gets more.
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

/// What may be read now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// What comes next.
    More,
    /// Nothing until what was given has been looked at.
    Look,
    /// Nothing until the answer has been written.
    Nothing,
}

impl Intake {
    /// What the framework may be given now.
    pub(super) fn wanted(&mut self) -> Wanted {
        if std::mem::take(&mut self.is_whole) {
            return Wanted::Look;
        }
        if let Some(body) = self.turn.take_body() {
            self.body = self.rest_of(body);
        }
        if self.turn.is_clients() {
            return Wanted::More;
        }
        match &self.body {
            Body::Over | Body::Length(0) => Wanted::Nothing,
            Body::Length(_) | Body::Chunked(_) | Body::Open => Wanted::More,
        }
    }

    /// The body of a request that has begun, less what was given of it along with the head.
    fn rest_of(&mut self, body: RequestBody) -> Body {
        let beyond = std::mem::take(&mut self.beyond_head);
        match body {
            RequestBody::Length(length) => Body::Length(length.saturating_sub(beyond)),
            RequestBody::Chunked => Body::Chunked(ChunkScan::default()),
            RequestBody::Open => Body::Open,
        }
    }

    /// Whether something waits.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Gives what waits, as far as the framework may have it.
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

    /// Takes what was read into `into` behind `before`; what the framework may not have yet is kept back.
    pub(super) fn took(&mut self, into: &mut ReadBuf<'_>, before: usize) {
        let given = self.accept(&into.filled()[before..]);
        self.held.extend_from_slice(&into.filled()[before + given..]);
        into.set_filled(before + given);
    }

    /// How many of these bytes the framework gets now; never none of some.
    fn accept(&mut self, bytes: &[u8]) -> usize {
        if self.turn.is_clients() {
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

    /// The head of one request, along with what may be its body: what has no second end of a head in it, and does not
    /// begin as chunks do, which have to be followed from the first one on.
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

/// Looks for the empty line at the end of a head. Empty lines before it are not meant.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum LineScan {
    /// No line has begun.
    #[default]
    Before,
    /// In a line.
    Line,
    /// Behind the end of a line.
    Start,
    /// Behind the end of a line and a carriage return.
    Return,
}

impl LineScan {
    /// The index behind the end, if it is here.
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

/// Looks for the end of a body in chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ChunkScan {
    /// In the line with a chunk's size; whether the digits are over.
    Size(u64, bool),
    /// In a chunk and its line end, of which so many bytes are left.
    Data(u64),
    /// Behind the last chunk; whether a line has begun.
    Trailer(bool),
    /// Whatever this is, the framework will refuse it.
    Broken,
}

impl Default for ChunkScan {
    fn default() -> Self {
        Self::Size(0, false)
    }
}

impl ChunkScan {
    /// The index behind the end, if it is here.
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

    /// Gives all that is there, and says what the framework got.
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
