//! The ports that are not stores: time, ids, secrets, events, and presence.

use crate::account::{ApiKey, KeyDigest, KeyKind, TokenClaims};
use crate::event::DomainEvent;
use crate::id::{ChatId, ParticipantId};
use crate::time::Timestamp;
use uuid::Uuid;

/// The clock. A use case reads it once and passes the time on.
pub trait Clock: Send + Sync {
    /// The current calendar time, for values that are stored, shown, or expire at a date. It jumps
    /// when the machine's clock is set.
    fn now(&self) -> Timestamp;

    /// A time that never jumps, on a scale of its own, for measurements such as rates, ages, and
    /// grace periods. It can only be compared with other steady times of this process.
    fn steady(&self) -> Timestamp;
}

/// Makes ids: UUID version 7, ordered by time.
pub trait IdGenerator: Send + Sync {
    /// A new id that contains `now`; no two calls return the same. It has no kind until the caller
    /// gives it one.
    fn generate(&self, now: Timestamp) -> Uuid;
}

/// Makes and digests API keys and other secrets.
pub trait KeyMint: Send + Sync {
    /// A new key with 256 random bits.
    fn mint(&self, kind: KeyKind, now: Timestamp) -> ApiKey;

    /// 160 random bits, for a secret that is no key: that of a second factor, or a recovery code.
    fn random_bytes(&self) -> [u8; 20];

    /// The SHA-256 digest under which a presented key is stored.
    fn digest(&self, presented: &str) -> KeyDigest;

    /// The beginning of a key's text, which identifies it for humans. It is stored and shown; the
    /// rest is long enough that it cannot be guessed.
    fn prefix(&self, text: &str) -> String;
}

/// Signs tokens and verifies their signatures.
pub trait TokenMint: Send + Sync {
    /// The text of a token with these claims.
    fn sign(&self, claims: &TokenClaims) -> String;

    /// The claims of `presented`, if one of this installation's keys signed it for this
    /// installation; its expiry is not checked.
    fn verify(&self, presented: &str) -> Option<TokenClaims>;
}

/// Publishes events to connected clients. Called after the commit, in commit order.
pub trait EventPublisher: Send + Sync {
    /// Passes the event to its subscribers. Never blocks and never fails: a client finds an event
    /// that its socket does not get in the store.
    fn publish(&self, event: DomainEvent);

    /// Returns whether an event for the humans of a chat has subscribers; true if that is unknown.
    /// It saves making events that have no other use.
    fn has_human_subscribers(&self, _chat: ChatId) -> bool {
        true
    }
}

/// Presence. It follows from live, authenticated sockets only, never from requests.
pub trait Presence: Send + Sync {
    /// Returns whether any socket of this user or agent is open.
    fn is_online(&self, who: ParticipantId) -> bool;

    /// Returns whether the user or agent is present. A platform agent, which is not external, needs
    /// no socket.
    fn is_present(&self, who: ParticipantId, is_external: Option<bool>) -> bool {
        is_external == Some(false) || self.is_online(who)
    }
}
