//! Checks the bytes of a client before the frame parser sees them.
//!
//! The parser refuses a frame that is too large only after all of it has arrived, and buffers it
//! until then, so a head that announces a terabyte would be accepted as long as bytes follow. Here
//! the head alone decides, and at most one permitted frame is ever buffered. The parser also parses
//! all available input before the first message is handled, and joins any number of fragments; here
//! it reads a little at a time, and few fragments.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use bytes::Bytes;
use futures_core::Stream;

/// The maximum size of a frame's head before the mask: two bytes, and eight of length.
const MAX_HEAD_BYTES: usize = 10;

/// The size of the mask that every frame of a client has.
const MASK_BYTES: u64 = 4;

/// The approximate number of bytes that are handed out per wake-up: messages of a burst are handled
/// before more of it is read, and other sockets get their turn in between.
const WAKE_BYTES: usize = 4 * 1024;

/// The maximum number of fragments of one message. Each costs some dozens of bytes, whatever its
/// content.
const MAX_FRAGMENTS: u32 = 64;

/// The bit of the first byte that marks the last frame of a message.
const FINAL_BIT: u8 = 0x80;

/// The bit of the first byte that marks control frames, which may occur between fragments.
const CONTROL_BIT: u8 = 0x08;

/// The bits of the first byte that are reserved for extensions, none of which is negotiated.
const RESERVED_BITS: u8 = 0x70;

/// The bits of the second byte that hold a length, or its size.
const LENGTH_BITS: u8 = 0x7f;

/// The reason why the input of a client ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    TooLarge,
    ReservedBits,
    TooManyFragments,
}

/// The position in a stream of frames.
#[derive(Debug)]
pub(crate) struct Heads {
    limit: u64,
    head: [u8; MAX_HEAD_BYTES],
    /// The number of bytes of the head that have arrived.
    known: usize,
    /// The number of bytes until the next head.
    left: u64,
    /// The number of fragments of the unfinished message.
    fragments: u32,
}

impl Heads {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit: limit as u64, head: [0; MAX_HEAD_BYTES], known: 0, left: 0, fragments: 0 }
    }

    /// Advances by `bytes`; fails at the first head that is not allowed.
    pub(crate) fn check(&mut self, mut bytes: &[u8]) -> Result<(), Fault> {
        loop {
            let skipped = usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
            self.left -= skipped as u64;
            bytes = &bytes[skipped..];
            let [first, rest @ ..] = bytes else { return Ok(()) };
            self.head[self.known] = *first;
            self.known += 1;
            bytes = rest;
            if let Some(length) = self.length() {
                if self.head[0] & RESERVED_BITS != 0 {
                    return Err(Fault::ReservedBits);
                }
                if length > self.limit {
                    return Err(Fault::TooLarge);
                }
                self.count_fragment()?;
                self.left = length + MASK_BYTES;
                self.known = 0;
            }
        }
    }

    fn count_fragment(&mut self) -> Result<(), Fault> {
        let first = self.head[0];
        if first & CONTROL_BIT != 0 {
            return Ok(());
        }
        self.fragments += 1;
        if self.fragments > MAX_FRAGMENTS {
            return Err(Fault::TooManyFragments);
        }
        if first & FINAL_BIT != 0 {
            self.fragments = 0;
        }
        Ok(())
    }

    /// The announced length, once the head has arrived.
    fn length(&self) -> Option<u64> {
        let [_, second, length @ ..] = &self.head;
        let bytes = match second & LENGTH_BITS {
            _ if self.known < 2 => return None,
            126 => &length[..2],
            127 => &length[..8],
            short => return Some(u64::from(short)),
        };
        let complete = self.known == 2 + bytes.len();
        complete.then(|| bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }
}

/// The bytes of a client up to the first frame that is not allowed, a little at a time.
struct Guarded {
    payload: Payload,
    heads: Heads,
    /// Bytes that were read and not handed out.
    rest: Bytes,
    /// The number of bytes handed out since the reader last had to wait.
    given: usize,
}

/// Passes frames of up to `limit` bytes. Any other input ends the stream: with
/// [`PayloadError::Overflow`] if it is too large, [`PayloadError::EncodingCorrupted`] if it uses an
/// extension, and [`PayloadError::UnknownLength`] if a message has too many fragments.
pub(crate) fn guard(payload: Payload, limit: usize) -> Payload {
    let guarded = Guarded { payload, heads: Heads::new(limit), rest: Bytes::new(), given: 0 };
    Payload::Stream { payload: Box::pin(guarded) }
}

impl Stream for Guarded {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.given >= WAKE_BYTES {
            self.given = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.rest.is_empty() {
            match Pin::new(&mut self.payload).poll_next(context) {
                Poll::Ready(Some(Ok(read))) => self.rest = read,
                Poll::Ready(end) => return Poll::Ready(end),
                Poll::Pending => {
                    self.given = 0;
                    return Poll::Pending;
                }
            }
        }
        let most = self.rest.len().min(WAKE_BYTES - self.given);
        let bytes = self.rest.split_to(most);
        self.given += most;
        self.heads.check(&bytes).map_err(|fault| match fault {
            Fault::TooLarge => PayloadError::Overflow,
            Fault::ReservedBits => PayloadError::EncodingCorrupted,
            Fault::TooManyFragments => PayloadError::UnknownLength,
        })?;
        Poll::Ready(Some(Ok(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A masked frame.
    fn frame(length: usize) -> Vec<u8> {
        let mut bytes = vec![0x81];
        match length {
            0..=125 => bytes.push(0x80 | u8::try_from(length).unwrap()),
            126..=0xffff => {
                bytes.push(0xfe);
                bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
            }
            _ => {
                bytes.push(0xff);
                bytes.extend((length as u64).to_be_bytes());
            }
        }
        // A mask and content that would be a valid head if they were read as one.
        bytes.extend(std::iter::repeat_n(0xff, 4 + length));
        bytes
    }

    #[test]
    fn the_limit_is_exact_however_the_bytes_are_cut() {
        for limit in [0, 1, 125, 126, 127, 0xffff, 0x1_0000] {
            let bytes = [frame(limit), frame(0), frame(limit)].concat();
            for size in [1, 2, 3, 7, 1000, bytes.len()] {
                let mut heads = Heads::new(limit);
                assert!(bytes.chunks(size).all(|chunk| heads.check(chunk).is_ok()), "{limit} by {size}");
                let over = frame(limit + 1);
                let refused = over.chunks(size).find_map(|chunk| heads.check(chunk).err());
                assert_eq!(refused, Some(Fault::TooLarge), "{limit} by {size}");
            }
        }
    }

    #[test]
    fn a_head_alone_is_enough() {
        for announced in [u64::MAX, 1 << 63, 1 << 40, 101] {
            let mut head = vec![0x82, 0xff];
            head.extend(announced.to_be_bytes());
            assert_eq!(Heads::new(100).check(&head), Err(Fault::TooLarge), "{announced}");
            assert_eq!(Heads::new(100).check(&head[..9]), Ok(()), "the length is not complete");
        }
    }

    #[test]
    fn no_extension_was_agreed_on() {
        for bit in [0x40, 0x20, 0x10] {
            assert_eq!(Heads::new(100).check(&[0x81 | bit, 0x80]), Err(Fault::ReservedBits));
        }
    }

    #[test]
    fn a_message_has_a_bounded_number_of_fragments() {
        // A fragmented text (its first frame, a continuation of one byte, its last frame) and a
        // Ping.
        let [begin, go_on, end, ping] = [[0x01, 0x80], [0x00, 0x81], [0x80, 0x80], [0x89, 0x80]];
        let frame =
            |head: [u8; 2]| [head.as_slice(), &[0; 4], &vec![0; usize::from(head[1] & 0x7f)]].concat();
        let mut heads = Heads::new(100);
        for _ in 0..3 {
            let most = vec![frame(go_on); 62].concat();
            let pings = vec![frame(ping); 100].concat();
            let message = [frame(begin), most, pings, frame(end), frame([0x81, 0x80])].concat();
            assert_eq!(heads.check(&message), Ok(()));
        }
        let more = [frame(begin), vec![frame(go_on); 64].concat()].concat();
        assert_eq!(heads.check(&more), Err(Fault::TooManyFragments));
    }

    /// Counts its wake-ups.
    #[derive(Default)]
    struct Woken(std::sync::atomic::AtomicUsize);

    impl std::task::Wake for Woken {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }

    #[test]
    fn a_burst_is_handed_out_a_little_at_a_time() {
        let burst = vec![frame(0); 20_000].concat();
        let all = Bytes::from(burst.clone());
        let mut guarded = guard(Payload::from(all), 100);
        let woken = std::sync::Arc::new(Woken::default());
        let waker = woken.clone().into();
        let mut context = Context::from_waker(&waker);
        let (mut read, mut at_once, mut waits) = (Vec::new(), 0, 0);
        loop {
            match Pin::new(&mut guarded).poll_next(&mut context) {
                Poll::Ready(Some(bytes)) => {
                    let bytes = bytes.unwrap();
                    at_once += bytes.len();
                    read.extend(bytes);
                    assert!(at_once <= WAKE_BYTES, "{at_once}");
                }
                Poll::Ready(None) => break,
                Poll::Pending => {
                    waits += 1;
                    at_once = 0;
                    assert_eq!(woken.0.load(std::sync::atomic::Ordering::Relaxed), waits, "it goes on");
                }
            }
        }
        assert!(read == burst, "nothing is lost");
        assert_eq!(waits, burst.len() / WAKE_BYTES);
    }
}
