//! Asking twice and meaning it once.
//!
//! A client whose answer was lost sends its request again. With an idempotency key the second
//! request makes nothing new and gets the first answer. A key belongs to one sender, one operation
//! and one place, and is remembered for a day from the first answer. A request that was refused
//! leaves nothing behind, so its key may be used again.
//!
//! What is remembered is the record that was made, not the answer's text: together with the
//! repeated request, which says the same, it gives the same answer.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use crate::id::{ChatId, ParticipantId};
use crate::store::StoreError;
use crate::text::TextFault;
use crate::time::Timestamp;

/// How long a first answer is remembered.
pub const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

/// The most characters of a key.
const MAX_KEY_CHARS: usize = 255;

/// What the client calls its request: 1 to 255 visible characters of ASCII.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Checks a key.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        if text.is_empty() {
            return Err(TextFault::Blank);
        }
        if text.len() > MAX_KEY_CHARS {
            return Err(TextFault::TooManyChars { max: MAX_KEY_CHARS });
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TextFault::Malformed {
                expected: "must contain only visible ASCII characters, without spaces",
            });
        }
        Ok(Self(text.to_owned()))
    }

    /// The key.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Tells one request from another: a digest of what it says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Wraps the digest.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest, for stores.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A request that is to count once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Once {
    /// What the client calls it.
    pub key: IdempotencyKey,
    /// What it says.
    pub fingerprint: Fingerprint,
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// A text in a room.
    SendMessage,
    /// An event in a room.
    PostEvent,
    /// A room.
    CreateChat,
}

impl Operation {
    /// The word that stores keep.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SendMessage => "send_message",
            Self::PostEvent => "post_event",
            Self::CreateChat => "create_chat",
        }
    }
}

/// A request that is to count once, and where its key is valid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claim {
    /// Who asks.
    pub sender: ParticipantId,
    /// For what.
    pub operation: Operation,
    /// In which room; `None` where the room is what is asked for.
    pub place: Option<ChatId>,
    /// The request.
    pub once: Once,
}

/// What is remembered of a request that was granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirstAnswer {
    /// What the request said.
    pub fingerprint: Fingerprint,
    /// Identifier of what it made.
    pub record: Uuid,
    /// When it was answered.
    pub at: Timestamp,
}

/// Whether a request is the first under its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is, or the earlier one is forgotten.
    First,
    /// It repeats the one that got this answer.
    Repeated(FirstAnswer),
    /// The key was given to a request that says something else.
    KeyReused,
}

impl Once {
    /// Judges this request by what is remembered under its key.
    pub fn judge(&self, remembered: Option<FirstAnswer>, now: Timestamp) -> Verdict {
        match remembered {
            Some(first) if first.at.plus(REMEMBERED) <= now => Verdict::First,
            Some(first) if first.fingerprint == self.fingerprint => Verdict::Repeated(first),
            Some(_) => Verdict::KeyReused,
            None => Verdict::First,
        }
    }
}

/// The store of first answers. They are written with what they tell of, by the methods that make
/// it; here they are only forgotten.
#[async_trait]
pub trait FirstAnswerRepository: Send + Sync {
    /// Removes at most `limit` answers that were given at `before` or earlier, oldest first;
    /// gives their number.
    async fn forget(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;
}

/// Removes what need not be remembered any more, a batch at a time, so that no other write waits
/// for long. Gives the number.
pub async fn forget_old_answers(
    answers: &dyn FirstAnswerRepository,
    now: Timestamp,
    batch: u32,
) -> Result<u64, StoreError> {
    let before = now.minus(REMEMBERED);
    let mut forgotten = 0;
    loop {
        let count = answers.forget(before, batch).await?;
        forgotten += count;
        if count < u64::from(batch) {
            return Ok(forgotten);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(0).plus(Duration::from_secs(seconds))
    }

    #[test]
    fn a_key_is_visible_ascii_of_bounded_length() {
        for good in ["a", "~!\"{}", "6f1c9f0e-1b1a-4c2e-9d50-000000000000", &"k".repeat(255)] {
            assert_eq!(IdempotencyKey::new(good).map(|key| key.as_str().to_owned()).as_deref(), Ok(good));
        }
        for bad in ["", " ", "a b", "a\tb", "ä", "\u{7f}", &"k".repeat(256)] {
            assert!(IdempotencyKey::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_repetition_is_known_for_a_day() {
        let (one, two) = (Fingerprint::new([1; 32]), Fingerprint::new([2; 32]));
        let key = IdempotencyKey::new("k").unwrap();
        let (request, other) = (Once { key: key.clone(), fingerprint: one }, Once { key, fingerprint: two });
        let first = FirstAnswer { fingerprint: one, record: Uuid::nil(), at: at(0) };
        let day = 24 * 60 * 60;
        assert_eq!(request.judge(None, at(0)), Verdict::First);
        for now in [0, day - 1] {
            assert_eq!(request.judge(Some(first), at(now)), Verdict::Repeated(first), "{now}");
            assert_eq!(other.judge(Some(first), at(now)), Verdict::KeyReused, "{now}");
        }
        assert_eq!(request.judge(Some(first), at(day)), Verdict::First);
        assert_eq!(other.judge(Some(first), at(day)), Verdict::First);
    }
}
