//! The envelope of messages on the bus: the sending node, the time, and the proof that it belongs
//! to this installation.
//!
//! NATS may serve others as well, and any client of it could send events to sockets. Every message
//! is therefore signed with a secret of the store (HMAC-SHA-256), which covers the subject, the
//! head and the body: nothing can be forged, altered, or moved to another subject. A recorded
//! message can be replayed for a minute; a repeated event is published once, and an old peer message
//! changes nothing.
//!
//! ```text
//! 'P' | version | kind | node, 16 | sent at, 8: µs | number, 8 | signature, 32 | body
//! ```

use aws_lc_rs::hmac;
use bytes::{BufMut, Bytes, BytesMut};
use domain::bus::CLOCKS_APART;
use domain::id::NodeId;
use domain::secret::Secret;
use domain::time::Timestamp;
use uuid::Uuid;

/// The first byte of every message, and the version of this head. Other versions are for other
/// programs.
const MARK: u8 = b'P';
const VERSION: u8 = 1;

const HEAD: usize = 2 + 1 + 16 + 8 + 8;
const SIGNATURE: usize = 32;

/// The number of bytes before a body.
pub(crate) const OVERHEAD: usize = HEAD + SIGNATURE;

/// The key that proves that a message belongs to this installation.
pub(crate) struct FrameSigner(hmac::Key);

/// The fields of a head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    /// The kind of the body.
    pub(crate) kind: u8,
    /// The sending node.
    pub(crate) node: NodeId,
    /// The time of sending, by that node's clock.
    pub(crate) sent_at: Timestamp,
    /// The number of an event among those of its node; a copy on another subject has the same.
    pub(crate) number: u64,
}

/// The reason for rejecting a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// No node sends such a message.
    Malformed,
    /// Only newer nodes support it.
    Unknown,
    /// Its signature is wrong.
    Forged,
    /// It was sent too long ago, or its time is in the future.
    TooOld,
}

impl FrameSigner {
    pub(crate) fn new(secret: Secret) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, &secret.0))
    }

    /// Seals a message for this subject.
    pub(crate) fn seal(&self, subject: &str, head: Head, body: &[u8]) -> Bytes {
        let mut message = BytesMut::with_capacity(OVERHEAD + body.len());
        message.put_u8(MARK);
        message.put_u8(VERSION);
        message.put_u8(head.kind);
        message.put_slice(head.node.uuid().as_bytes());
        message.put_i64(head.sent_at.micros());
        message.put_u64(head.number);
        let signature = self.sign(subject, &message, body);
        message.put_slice(signature.as_ref());
        message.put_slice(body);
        message.freeze()
    }

    /// The head and the body of a message that arrived on this subject.
    pub(crate) fn open<'a>(
        &self,
        subject: &str,
        message: &'a [u8],
        now: Timestamp,
    ) -> Result<(Head, &'a [u8]), Refused> {
        let (bytes, rest) = message.split_at_checked(HEAD).ok_or(Refused::Malformed)?;
        if bytes[0] != MARK {
            return Err(Refused::Malformed);
        }
        if bytes[1] != VERSION {
            return Err(Refused::Unknown);
        }
        let (signature, body) = rest.split_at_checked(SIGNATURE).ok_or(Refused::Malformed)?;
        let signed = self.sign(subject, bytes, body);
        aws_lc_rs::constant_time::verify_slices_are_equal(signed.as_ref(), signature)
            .map_err(|_| Refused::Forged)?;
        let head = Head::read(bytes).ok_or(Refused::Malformed)?;
        let is_now = head.sent_at.plus(CLOCKS_APART) >= now && head.sent_at <= now.plus(CLOCKS_APART);
        if is_now { Ok((head, body)) } else { Err(Refused::TooOld) }
    }

    fn sign(&self, subject: &str, head: &[u8], body: &[u8]) -> hmac::Tag {
        let mut signing = hmac::Context::with_key(&self.0);
        signing.update(subject.as_bytes());
        // No subject contains a NUL.
        signing.update(&[0]);
        signing.update(head);
        signing.update(body);
        signing.sign()
    }
}

impl Head {
    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            kind: bytes[2],
            node: NodeId::new(Uuid::from_slice(&bytes[3..19]).ok()?),
            sent_at: Timestamp::from_micros(i64::from_be_bytes(bytes[19..27].try_into().ok()?)),
            number: u64::from_be_bytes(bytes[27..35].try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn seal() -> FrameSigner {
        FrameSigner::new(Secret([7; 32]))
    }

    fn head() -> Head {
        let node = NodeId::new(Uuid::from_u128(3));
        Head { kind: 1, node, sent_at: Timestamp::from_micros(1_000_000_000), number: 42 }
    }

    #[test]
    fn what_was_sealed_is_opened() {
        let now = head().sent_at.plus(Duration::from_secs(3));
        let message = seal().seal("p.t.room.1", head(), b"body");
        assert_eq!(message.len(), OVERHEAD + 4);
        assert_eq!(seal().open("p.t.room.1", &message, now), Ok((head(), &b"body"[..])));
        let empty = seal().seal("p.nodes", head(), b"");
        assert_eq!(seal().open("p.nodes", &empty, now), Ok((head(), &b""[..])));
    }

    #[test]
    fn nothing_is_made_up_altered_or_moved() {
        let now = head().sent_at;
        let message = seal().seal("p.t.room.1", head(), b"body");
        assert_eq!(seal().open("p.t.room.2", &message, now), Err(Refused::Forged));
        assert_eq!(FrameSigner::new(Secret([8; 32])).open("p.t.room.1", &message, now), Err(Refused::Forged));
        for index in 0..message.len() {
            let mut altered = message.to_vec();
            altered[index] ^= 1;
            let expected = match index {
                0 => Refused::Malformed,
                1 => Refused::Unknown,
                _ => Refused::Forged,
            };
            assert_eq!(seal().open("p.t.room.1", &altered, now), Err(expected), "byte {index}");
        }
        for length in 0..OVERHEAD {
            let cut = &message[..length];
            assert_eq!(seal().open("p.t.room.1", cut, now), Err(Refused::Malformed), "{length} bytes");
        }
        assert_eq!(seal().open("p.t.room.1", &message[..message.len() - 1], now), Err(Refused::Forged));
    }

    #[test]
    fn what_is_old_or_not_yet_sent_is_not_taken() {
        let message = seal().seal("p.nodes", head(), b"");
        let (minute, micro) = (Duration::from_secs(60), Duration::from_micros(1));
        for (now, taken) in [
            (head().sent_at.plus(minute), true),
            (head().sent_at.minus(minute), true),
            (head().sent_at.plus(minute + micro), false),
            (head().sent_at.minus(minute + micro), false),
        ] {
            let opened = seal().open("p.nodes", &message, now).map(|_| ());
            assert_eq!(opened, if taken { Ok(()) } else { Err(Refused::TooOld) });
        }
    }
}
