//! The ports that are not stores: time, ids, secrets, and the event bus.

use crate::account::{ApiKey, KeyDigest, KeyKind, TokenClaims};
use crate::event::DomainEvent;
use crate::id::{ChatId, ParticipantId};
use crate::time::Timestamp;
use uuid::Uuid;

/// The clock. A use case reads it once and hands the instant down.
pub trait Clock: Send + Sync {
    /// The present instant, as calendars have it: for what is stored, shown, or expires at a date. It jumps when the
    /// machine's clock is set.
    fn now(&self) -> Timestamp;

    /// An instant that never jumps, on a scale of its own: for what is measured, such as rates, the ages of what is
    /// remembered and periods of grace. Compare it with other steady instants of this process only.
    fn steady(&self) -> Timestamp;
}

/// Makes ids: UUID version 7, ordered by time.
pub trait IdGenerator: Send + Sync {
    /// A fresh id that carries `now`; two calls never give the same.
    fn generate(&self, now: Timestamp) -> Uuid;
}

/// Makes and digests API keys.
pub trait KeyMint: Send + Sync {
    /// A fresh key with 256 random bits.
    fn mint(&self, kind: KeyKind, now: Timestamp) -> ApiKey;

    /// The SHA-256 digest under which a presented key is stored.
    fn digest(&self, presented: &str) -> KeyDigest;

    /// The beginning of a key's text, by which people tell one key from another. It is stored and shown; so
    /// much is left of the text behind it that nobody can guess the rest.
    fn prefix(&self, text: &str) -> String;
}

/// Signs tokens and looks at their signatures.
pub trait TokenMint: Send + Sync {
    /// The text of a token that says `claims`.
    fn sign(&self, claims: &TokenClaims) -> String;

    /// What `presented` says, if one of this installation's keys signed it for this
    /// installation; whether it is still good is not looked at.
    fn verify(&self, presented: &str) -> Option<TokenClaims>;
}

/// Tells connected clients what happened. Called after the commit, in commit order.
pub trait EventPublisher: Send + Sync {
    /// Hands the event to whoever listens. Never blocks and never fails: what a socket does not
    /// get, its client finds in the store.
    fn publish(&self, event: DomainEvent);

    /// Whether what is told to the humans of a room only would be heard right now. Whoever cannot
    /// know says yes; a no saves making an event that has no other use.
    fn is_heard(&self, _chat: ChatId) -> bool {
        true
    }
}

/// Who is connected right now. Comes from live, authenticated sockets only, never from requests.
pub trait Presence: Send + Sync {
    /// Whether any socket of this user or agent is open.
    fn is_online(&self, who: ParticipantId) -> bool;

    /// Whether somebody can be reached right now. An agent that the service itself runs, which is
    /// not external, needs no socket.
    fn is_there(&self, who: ParticipantId, is_external: Option<bool>) -> bool {
        is_external == Some(false) || self.is_online(who)
    }
}
