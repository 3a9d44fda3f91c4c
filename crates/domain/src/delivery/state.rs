//! The state machine of a delivery. Pure.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize, Serializer};

use super::port::DeliveryStep;
use super::{SHOWN_ATTEMPTS, SHOWN_ERROR_BYTES, shown_error};
use crate::id::AgentId;
use crate::text::{TextFault, bounded};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// The status of a delivery.
    DeliveryStatus {
        /// Stored, and not yet taken by a socket.
        New = "new",
        /// A socket of the agent took it.
        Delivered = "delivered",
        /// An attempt is open.
        Processing = "processing",
        /// Done; it is not offered any more.
        Processed = "processed",
        /// The last attempt failed; it is offered again.
        Failed = "failed",
    }
}

/// The number of an attempt, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct AttemptNumber(NonZeroU32);

impl AttemptNumber {
    /// The number of the first attempt.
    pub const FIRST: Self = Self(NonZeroU32::MIN);

    /// The attempt with this number; `None` for 0.
    pub const fn new(number: u32) -> Option<Self> {
        match NonZeroU32::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number itself.
    pub const fn get(self) -> u32 {
        self.0.get()
    }

    /// The number of the attempt after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

words! {
    /// The status of an attempt.
    AttemptStatus {
        /// Open.
        Processing = "processing",
        /// Closed as done.
        Success = "success",
        /// Closed as failed.
        Failed = "failed",
    }
}

/// One attempt at a message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// The number from 1, without gaps.
    pub number: AttemptNumber,
    /// Its status.
    pub status: AttemptStatus,
    /// The time at which it was opened.
    pub started_at: Timestamp,
    /// The time at which it was closed.
    pub completed_at: Option<Timestamp>,
    /// The reason of its failure.
    pub error: Option<String>,
}

/// The reason for a failed attempt, in the agent's words: not blank, at most 16,384 characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailureText(String);

impl FailureText {
    /// The maximum number of characters.
    pub const MAX_CHARS: usize = 16_384;

    /// Checks the text, which is kept unchanged.
    pub fn new(text: String) -> Result<Self, TextFault> {
        bounded(text, Self::MAX_CHARS).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// There is no open attempt to close.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no active processing attempt")]
pub struct NoActiveAttempt;

/// The error of an attempt that another one superseded.
pub const SUPERSEDED: &str = "superseded by a new attempt";

/// One message on its way to one agent. Its status follows from its attempts, so that the two
/// cannot contradict each other.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Delivery {
    /// The receiving agent.
    pub agent: AgentId,
    /// Set if the message mentions the agent. One that does not is never offered, but the agent may
    /// record its work on it.
    pub addressed: bool,
    /// The time at which a socket took it.
    pub delivered_at: Option<Timestamp>,
    attempts: Vec<Attempt>,
}

/// Attempts that no sequence of steps produces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the attempts of a delivery contradict each other")]
pub struct Inconsistent;

/// A delivery as read from the bus; its other members follow from these.
#[derive(Deserialize)]
struct Stored {
    agent: AgentId,
    addressed: bool,
    delivered_at: Option<Timestamp>,
    attempts: Vec<Attempt>,
}

impl TryFrom<Stored> for Delivery {
    type Error = Inconsistent;

    fn try_from(stored: Stored) -> Result<Self, Inconsistent> {
        Self::restore(stored.agent, stored.addressed, stored.delivered_at, stored.attempts)
    }
}

impl Serialize for Delivery {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            agent: AgentId,
            addressed: bool,
            status: DeliveryStatus,
            delivered_at: Option<Timestamp>,
            processed_at: Option<Timestamp>,
            attempts: &'a [Attempt],
        }

        let Self { agent, addressed, delivered_at, attempts } = self;
        Shown {
            agent: *agent,
            addressed: *addressed,
            status: self.status(),
            delivered_at: *delivered_at,
            processed_at: self.processed_at(),
            attempts,
        }
        .serialize(serializer)
    }
}

impl Delivery {
    /// A new delivery.
    pub const fn new(agent: AgentId, addressed: bool) -> Self {
        Self { agent, addressed, delivered_at: None, attempts: Vec::new() }
    }

    /// A stored delivery, with its attempts or the newest of them, oldest first.
    ///
    /// # Errors
    /// [`Inconsistent`] if the numbers of the attempts do not ascend, if one before the last is
    /// open, or if an open one has an end or a closed one has none.
    pub fn restore(
        agent: AgentId,
        addressed: bool,
        delivered_at: Option<Timestamp>,
        attempts: Vec<Attempt>,
    ) -> Result<Self, Inconsistent> {
        let ascend = attempts.is_sorted_by(|one, next| one.number < next.number && !one.is_open());
        let closed = attempts.iter().all(|attempt| attempt.is_open() == attempt.completed_at.is_none());
        if ascend && closed {
            Ok(Self { agent, addressed, delivered_at, attempts })
        } else {
            Err(Inconsistent)
        }
    }

    /// Its status.
    pub fn status(&self) -> DeliveryStatus {
        match self.attempts.last().map(|newest| newest.status) {
            None if self.delivered_at.is_none() => DeliveryStatus::New,
            None => DeliveryStatus::Delivered,
            Some(AttemptStatus::Processing) => DeliveryStatus::Processing,
            Some(AttemptStatus::Success) => DeliveryStatus::Processed,
            Some(AttemptStatus::Failed) => DeliveryStatus::Failed,
        }
    }

    /// The time at which it was done.
    pub fn processed_at(&self) -> Option<Timestamp> {
        self.attempts.last().filter(|newest| newest.status == AttemptStatus::Success)?.completed_at
    }

    /// Its attempts, oldest first, possibly only the newest ones. Transitions use the last.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// The number of the newest attempt.
    pub fn current_attempt(&self) -> Option<AttemptNumber> {
        self.attempts.last().map(|attempt| attempt.number)
    }

    /// Records that a socket of the agent took the message. Only a new delivery changes.
    pub fn delivered(mut self, now: Timestamp) -> Self {
        if self.status() == DeliveryStatus::New {
            self.delivered_at = Some(now);
        }
        self
    }

    /// Opens the next attempt in any state: an open one is closed as superseded, and a processed
    /// message is opened again.
    pub fn begin_attempt(mut self, now: Timestamp) -> Self {
        let number = self.current_attempt().map_or(AttemptNumber::FIRST, AttemptNumber::next);
        if let Some(open) = self.open_attempt() {
            open.close(AttemptStatus::Failed, Some(SUPERSEDED.to_owned()), now);
        }
        let status = AttemptStatus::Processing;
        self.attempts.push(Attempt { number, status, started_at: now, completed_at: None, error: None });
        self
    }

    /// Closes the open attempt as done.
    pub fn succeed(mut self, now: Timestamp) -> Result<Self, NoActiveAttempt> {
        self.open_attempt().ok_or(NoActiveAttempt)?.close(AttemptStatus::Success, None, now);
        Ok(self)
    }

    /// Closes the open attempt as failed; the message is offered again.
    pub fn fail(mut self, error: &FailureText, now: Timestamp) -> Result<Self, NoActiveAttempt> {
        let error = Some(error.as_str().to_owned());
        self.open_attempt().ok_or(NoActiveAttempt)?.close(AttemptStatus::Failed, error, now);
        Ok(self)
    }

    /// Takes a step of the agent's work.
    ///
    /// # Errors
    /// [`NoActiveAttempt`] if an attempt is to be closed and none is open.
    pub fn step(self, step: &DeliveryStep, now: Timestamp) -> Result<Self, NoActiveAttempt> {
        match step {
            DeliveryStep::Begin => Ok(self.begin_attempt(now)),
            DeliveryStep::Succeed => self.succeed(now),
            DeliveryStep::Fail(error) => self.fail(error, now),
        }
    }

    /// The shown form: the newest attempts, each with the beginning of its error.
    #[must_use]
    pub fn shown(mut self) -> Self {
        let hidden = self.attempts.len().saturating_sub(SHOWN_ATTEMPTS as usize);
        self.attempts.drain(..hidden);
        for error in self.attempts.iter_mut().filter_map(|attempt| attempt.error.as_mut()) {
            if error.len() > SHOWN_ERROR_BYTES {
                *error = shown_error(error.as_bytes()[..=SHOWN_ERROR_BYTES].to_vec());
            }
        }
        self
    }

    fn open_attempt(&mut self) -> Option<&mut Attempt> {
        self.attempts.last_mut().filter(|attempt| attempt.is_open())
    }
}

impl Attempt {
    fn is_open(&self) -> bool {
        self.status == AttemptStatus::Processing
    }

    fn close(&mut self, status: AttemptStatus, error: Option<String>, now: Timestamp) {
        self.status = status;
        self.completed_at = Some(now);
        self.error = error;
    }
}

#[cfg(test)]
mod tests;
