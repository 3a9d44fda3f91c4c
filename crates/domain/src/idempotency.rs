//! Idempotency keys.
//!
//! A client whose answer was lost repeats its request. With an idempotency key, the repetition
//! creates nothing and gets the first answer. A key is valid for one sender, one operation and one
//! chat, and is stored for at least a day after the first answer, until it is removed in the
//! background: a request never decides by its clock, which may be wrong, that an answer is old. A
//! refused request stores nothing, so its key can be used again.
//!
//! The store keeps the id of the created record, not the text of the answer. Together with the
//! repeated request, which has the same content, it gives the same answer.
//!
//! An answer that contains a secret cannot be given twice, since no secret is stored. The repetition replaces the secret
//! that the first request made and that nobody has used, and answers with the new one
//! ([`crate::account::KeyRecord::decide_replace`]).

use std::time::Duration;

use async_trait::async_trait;

use crate::id::{AgentId, ParticipantId, RecordId, UserId};
use crate::store::StoreError;
use crate::text::TextFault;
use crate::time::Timestamp;
use crate::words::words;

/// How long an answer is stored, at least.
pub const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The most characters of a key.
const MAX_KEY_CHARS: usize = 255;

/// A key chosen by the client: 1 to 255 visible ASCII characters.
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

/// A digest of the content of a request.
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

/// A request with an idempotency key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdempotentRequest {
    /// The key.
    pub key: IdempotencyKey,
    /// The digest of its content.
    pub fingerprint: Fingerprint,
}

words! {
    /// An operation that accepts idempotency keys.
    Operation {
        /// Sending a text.
        SendMessage = "send_message",
        /// Posting an event.
        PostEvent = "post_event",
        /// Creating a chat.
        CreateChat = "create_chat",
        /// Registering an agent.
        RegisterAgent = "register_agent",
        /// Rotating the key of an agent.
        RotateKey = "rotate_key",
        /// Creating an API key.
        CreateKey = "create_key",
        /// Creating a task on the board of a chat.
        CreateTask = "create_task",
    }
}

/// A request with an idempotency key, and the scope of the key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyedRequest {
    /// The sender.
    pub sender: ParticipantId,
    /// The operation.
    pub operation: Operation,
    /// The chat, or the agent whose key is rotated; `None` where a chat is what is created, or neither is concerned.
    pub place: Option<RecordId>,
    /// The request.
    pub once: IdempotentRequest,
}

impl KeyedRequest {
    /// A request of `sender` for an operation in a place, if it has a key.
    pub fn of(
        sender: ParticipantId,
        operation: Operation,
        place: Option<RecordId>,
        once: Option<IdempotentRequest>,
    ) -> Option<Self> {
        once.map(|once| Self { sender, operation, place, once })
    }

    /// A request of `user` for an API key.
    pub fn for_key(
        user: UserId,
        operation: Operation,
        agent: Option<AgentId>,
        once: Option<IdempotentRequest>,
    ) -> Option<Self> {
        Self::of(ParticipantId::User(user), operation, agent.map(RecordId::from), once)
    }
}

/// The stored record of an accepted request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredAnswer {
    /// The digest of the request.
    pub fingerprint: Fingerprint,
    /// The message, chat, task, or API key that it created.
    pub record: RecordId,
    /// The time of the answer.
    pub at: Timestamp,
}

/// The comparison of a request with the record under its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is the first.
    First,
    /// It repeats the request that got this answer.
    Repeated(StoredAnswer),
    /// The key was used for a request with other content.
    KeyReused,
}

impl IdempotentRequest {
    /// Compares this request with what is stored under its key.
    pub fn judge(&self, stored: Option<StoredAnswer>) -> Verdict {
        match stored {
            Some(first) if first.fingerprint == self.fingerprint => Verdict::Repeated(first),
            Some(_) => Verdict::KeyReused,
            None => Verdict::First,
        }
    }
}

/// The store of answers. They are written together with the records, by the methods that create
/// those; here they only expire.
#[async_trait]
pub trait IdempotencyRepository: Send + Sync {
    /// Removes at most `limit` answers that were given at `before` or earlier, oldest first;
    /// gives their number.
    async fn forget(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;
}

/// Removes expired answers in batches, so that no other write waits for long. Returns their number.
pub async fn forget_old_answers(
    answers: &dyn IdempotencyRepository,
    now: Timestamp,
    batch: u32,
) -> Result<u64, StoreError> {
    let before = now.minus(LIFETIME);
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
    fn a_repetition_is_known_as_long_as_its_answer_is_stored() {
        let (one, two) = (Fingerprint::new([1; 32]), Fingerprint::new([2; 32]));
        let key = IdempotencyKey::new("k").unwrap();
        let (request, other) = (
            IdempotentRequest { key: key.clone(), fingerprint: one },
            IdempotentRequest { key, fingerprint: two },
        );
        let first = StoredAnswer { fingerprint: one, record: RecordId::NIL, at: Timestamp::from_micros(0) };
        assert_eq!(request.judge(None), Verdict::First);
        assert_eq!(request.judge(Some(first)), Verdict::Repeated(first));
        assert_eq!(other.judge(Some(first)), Verdict::KeyReused);
    }
}
