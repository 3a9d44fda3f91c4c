//! Claims: whether all workers of an agent may work on a message at once, or one of them for a time.
//!
//! An agent is one key, and often several processes. With [`Claims::Exclusive`], the attempt that a worker opens *claims*
//! the message: until the lease ends, no other attempt is opened, and the message is not offered. A worker has no identity
//! of its own, so the number of the attempt is all that distinguishes it from others: it may name that number with every
//! step, and then a step of an older attempt is refused.
//!
//! A lease is renewed by a worker that names its attempt, and by activity of the agent in the room ([`ClaimRenewal`]). The
//! server cannot know which worker was active. Activity that names a message renews the claim of that message; any other
//! activity renews the claims in the room whose attempts began at most `UNNAMED_LEASES` leases ago. An expired
//! lease alone changes nothing: the attempt stays open, and its worker can still close it, until another attempt
//! supersedes it.

use std::sync::Arc;
use std::time::Duration;

use super::port::{DeliveryRepository, RenewClaims};
use super::state::{AttemptNumber, MaxAttempts};
use crate::caller::{AgentCaller, Caller};
use crate::id::{ChatId, MessageId};
use crate::ports::Clock;
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// What an open attempt means for other workers of the same agent.
    #[derive(Default)]
    Claims {
        /// Nothing: another attempt supersedes it.
        #[default]
        Shared = "shared",
        /// It claims the message until its lease ends.
        Exclusive = "exclusive",
    }
}

impl Claims {
    /// As the stores keep it.
    pub const fn is_exclusive(self) -> bool {
        matches!(self, Self::Exclusive)
    }

    /// Reads [`Self::is_exclusive`] back.
    pub const fn of(is_exclusive: bool) -> Self {
        if is_exclusive { Self::Exclusive } else { Self::Shared }
    }
}

/// How long a claim lasts without being renewed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClaimLease(Duration);

impl ClaimLease {
    /// A lease of this length.
    pub const fn new(length: Duration) -> Self {
        Self(length)
    }

    /// The end of a claim that is made or renewed at `now`.
    pub fn end(self, now: Timestamp) -> Timestamp {
        now.plus(self.0)
    }

    /// A claim that ends later than this is not renewed at `now`: less than a quarter of its lease has passed, and each
    /// renewal is a write.
    fn fresh_after(self, now: Timestamp) -> Timestamp {
        now.plus(self.0 / 4 * 3)
    }

    /// Attempts that began before this are renewed at `now` only by activity that names their message: a worker that crashed
    /// would otherwise keep its message for as long as others of the agent work in the room.
    fn unnamed_after(self, now: Timestamp) -> Timestamp {
        now.minus(self.0 * UNNAMED_LEASES)
    }
}

impl Default for ClaimLease {
    /// One minute.
    fn default() -> Self {
        Self(Duration::from_secs(60))
    }
}

/// The number of leases, counted from the start of an attempt, for which activity that names no message renews it.
const UNNAMED_LEASES: u32 = 15;

/// A claim that has not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// The open attempt.
    pub attempt: AttemptNumber,
    /// When it ends, unless it is renewed.
    pub until: Timestamp,
}

/// What a step depends on, apart from the delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StepTerms {
    /// The maximum number of attempts of the agent.
    pub max_attempts: Option<MaxAttempts>,
    /// The lease of a new attempt; `None` if the agent does not claim messages.
    pub lease: Option<ClaimLease>,
    /// The attempt that must be the open one, if the agent names it.
    pub attempt: Option<AttemptNumber>,
}

impl From<Option<MaxAttempts>> for StepTerms {
    /// Those of an agent that does not claim messages.
    fn from(max_attempts: Option<MaxAttempts>) -> Self {
        Self { max_attempts, ..Self::default() }
    }
}

/// Renews the claims of an agent that shows a sign of life.
pub struct ClaimRenewal {
    deliveries: Arc<dyn DeliveryRepository>,
    clock: Arc<dyn Clock>,
    lease: ClaimLease,
}

impl ClaimRenewal {
    /// Wires it to its ports.
    pub fn new(deliveries: Arc<dyn DeliveryRepository>, clock: Arc<dyn Clock>, lease: ClaimLease) -> Self {
        Self { deliveries, clock, lease }
    }

    /// Records that `caller` has worked in the chat: on `message`, or on any of those that it has claimed there. Agents that
    /// do not claim messages cost nothing. A failure of the store is ignored, since what the agent did is stored already,
    /// and its next sign of life renews the claim.
    pub(crate) async fn note(&self, caller: impl Into<Caller>, chat: ChatId, message: Option<MessageId>) {
        let Caller::Agent(AgentCaller { agent, claims: Claims::Exclusive, .. }) = caller.into() else {
            return;
        };
        let now = self.clock.now();
        let lease = self.lease;
        let (until, fresh_after, begun_after) =
            (lease.end(now), lease.fresh_after(now), lease.unnamed_after(now));
        let renewal = RenewClaims { agent, chat, message, until, fresh_after, begun_after, now };
        let _ = self.deliveries.renew_claims(renewal).await;
    }
}

#[cfg(test)]
mod tests;
