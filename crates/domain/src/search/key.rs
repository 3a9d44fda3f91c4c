//! What the index keeps of a message, and the order of the index. Pure.

use std::fmt;

use crate::id::{AgentId, ChatId, Sequence};
use crate::message::MessageKind;
use crate::time::Timestamp;

/// A property of a message, as a number. Different properties can have the same number, so what the index finds is compared
/// with the query again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SearchKey(u32);

impl SearchKey {
    /// A token of the text.
    pub fn token(text: &str) -> Self {
        Self::of(b't', text.as_bytes())
    }

    /// The room.
    pub fn room(chat: ChatId) -> Self {
        Self::of(b'r', chat.uuid().as_bytes())
    }

    /// The handle of the sender.
    pub fn sender(handle: &str) -> Self {
        Self::of(b's', handle.as_bytes())
    }

    /// The kind of the message.
    pub fn kind(kind: MessageKind) -> Self {
        Self::of(b'k', kind.as_str().as_bytes())
    }

    /// An agent that may read the message: its sender, or one that it is addressed to.
    pub fn reader(agent: AgentId) -> Self {
        Self::of(b'a', agent.uuid().as_bytes())
    }

    /// A span of time, for stores whose index has no order.
    pub fn span(level: u32, number: i64) -> Self {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&level.to_be_bytes());
        bytes[4..].copy_from_slice(&number.to_be_bytes());
        Self::of(b'n', &bytes)
    }

    /// The number, as a column value.
    pub const fn number(self) -> i32 {
        self.0.cast_signed()
    }

    /// FNV-1a, mixed: the same in every version of this program.
    fn of(tag: u8, bytes: &[u8]) -> Self {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let hash = bytes.iter().fold(step(0xcbf2_9ce4_8422_2325, tag), |hash, byte| step(hash, *byte));
        let mixed = (hash ^ (hash >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        Self(u32::try_from(mixed).unwrap_or(u32::MAX))
    }
}

impl fmt::Display for SearchKey {
    /// Eight hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// The keys that candidates for a search have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexKeys {
    /// Every candidate has all of these.
    pub all: Vec<SearchKey>,
    /// Every candidate has one of these, unless there are none.
    pub any: Vec<SearchKey>,
}

/// The place of a message in the order of results: by time, and by sequence among messages of a room at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SearchPlace(i64);

impl SearchPlace {
    /// The bits of a place for the sequence.
    const SEQUENCE_BITS: u32 = 11;

    /// The latest time that has a place of its own, in the year 2112.
    const LATEST: i64 = (1 << 52) - 1;

    /// Follows every message.
    pub const END: Self = Self(i64::MAX);

    /// The place of a message.
    pub fn of(created_at: Timestamp, sequence: Sequence) -> Self {
        let sequence = sequence.get() & ((1 << Self::SEQUENCE_BITS) - 1);
        Self(Self::at(created_at).0 | sequence)
    }

    /// The first place at a time.
    pub fn at(time: Timestamp) -> Self {
        Self(time.micros().clamp(0, Self::LATEST) << Self::SEQUENCE_BITS)
    }

    /// A place from a column or a cursor.
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number, as a column value.
    pub const fn number(self) -> i64 {
        self.0
    }
}
