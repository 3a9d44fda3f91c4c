//! The client's end of a socket, read as cheaply as can be: only the heads of frames are looked at.

use std::future::pending;
use std::ops::Range;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, interval_at};

/// How often a client says that it lives, as the published ones do.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// `[null,"0","phoenix","heartbeat",{}]` as a masked frame; the mask is zero, so the text stands as it is.
const BEAT: &[u8] = b"\x81\xa3\0\0\0\0[null,\"0\",\"phoenix\",\"heartbeat\",{}]";

/// What came.
#[derive(Debug)]
pub(crate) enum Came<'s> {
    /// A message of the server, and not the answer to a heartbeat.
    Text(&'s [u8]),
    /// The end, with its code.
    Close(u16),
}

/// Reads frames of a server, which are not masked and here never in fragments.
pub(crate) struct Skimmer {
    stream: TcpStream,
    buffer: Vec<u8>,
    read: usize,
    heartbeat: Option<tokio::time::Interval>,
}

const TEXT: u8 = 1;
const CLOSE: u8 = 8;

impl Skimmer {
    /// Goes on with a stream whose handshake is done. `heartbeat`: whether the server waits for heartbeats.
    pub(crate) fn new(stream: TcpStream, heartbeat: bool) -> Self {
        let heartbeat = heartbeat.then(|| interval_at(Instant::now() + HEARTBEAT, HEARTBEAT));
        Self { stream, buffer: Vec::new(), read: 0, heartbeat }
    }

    /// The next that came; `None` when the connection has gone.
    pub(crate) async fn next(&mut self) -> Option<Came<'_>> {
        let (opcode, payload) = self.found().await?;
        let payload = &self.buffer[payload];
        Some(if opcode == TEXT { Came::Text(payload) } else { Came::Close(code(payload)) })
    }

    /// Where the next frame lies that somebody wants to hear of.
    async fn found(&mut self) -> Option<(u8, Range<usize>)> {
        loop {
            while let Some((opcode, payload, end)) = frame(&self.buffer, self.read) {
                self.read = end;
                let is_wanted = match opcode {
                    TEXT => !is_beat(&self.buffer[payload.clone()]),
                    opcode => opcode == CLOSE,
                };
                if is_wanted {
                    return Some((opcode, payload));
                }
            }
            self.buffer.drain(..self.read);
            self.read = 0;
            if self.buffer.is_empty() {
                // Ten thousand of them wait; what one does not need now it gives back.
                self.buffer = Vec::new();
            }
            if !self.fill().await {
                return None;
            }
        }
    }

    /// Waits for more bytes, and says meanwhile that it lives.
    async fn fill(&mut self) -> bool {
        loop {
            let beat = async {
                match &mut self.heartbeat {
                    Some(interval) => interval.tick().await,
                    None => pending().await,
                }
            };
            tokio::select! {
                ready = self.stream.readable() => {
                    if ready.is_err() {
                        return false;
                    }
                    self.buffer.reserve(4096);
                    return self.stream.read_buf(&mut self.buffer).await.is_ok_and(|bytes| bytes > 0);
                }
                _ = beat => {
                    if self.stream.write_all(BEAT).await.is_err() {
                        return false;
                    }
                }
            }
        }
    }
}

/// Opcode, payload and end of the frame that begins at `from`, if all of it is there.
fn frame(bytes: &[u8], from: usize) -> Option<(u8, Range<usize>, usize)> {
    let (opcode, short) = (*bytes.get(from)? & 0x0f, *bytes.get(from + 1)? & 0x7f);
    let (begin, length) = match short {
        126 => (from + 4, u64::from(u16::from_be_bytes(bytes.get(from + 2..from + 4)?.try_into().unwrap()))),
        127 => (from + 10, u64::from_be_bytes(bytes.get(from + 2..from + 10)?.try_into().unwrap())),
        short => (from + 2, u64::from(short)),
    };
    let end = begin + usize::try_from(length).unwrap();
    (end <= bytes.len()).then_some((opcode, begin..end, end))
}

fn is_beat(text: &[u8]) -> bool {
    text.starts_with(b"[null,\"0\",\"phoenix\",\"phx_reply\"")
}

fn code(payload: &[u8]) -> u16 {
    payload.first_chunk().map_or(1005, |code| u16::from_be_bytes(*code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_when_they_are_whole() {
        let mut bytes = b"\x81\x02hi\x81\x7e\x01\x00".to_vec();
        bytes.extend([b'x'; 256]);
        bytes.extend(b"\x88\x02\x03\xf4");
        assert_eq!(frame(&bytes, 0), Some((TEXT, 2..4, 4)));
        assert_eq!(frame(&bytes, 4), Some((TEXT, 8..264, 264)));
        assert_eq!(frame(&bytes, 264), Some((CLOSE, 266..268, 268)));
        assert_eq!(code(&bytes[266..268]), 1012);
        assert_eq!(frame(&bytes, 268), None);
        assert_eq!(frame(&bytes[..200], 4), None);
    }

    #[test]
    fn a_heartbeat_has_the_length_that_its_head_says() {
        assert_eq!(BEAT.len(), 6 + usize::from(BEAT[1] & 0x7f));
    }
}
