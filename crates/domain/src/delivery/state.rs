//! The state machine of a delivery. Pure.

use serde::{Deserialize, Serialize, Serializer};

use super::port::DeliveryStep;
use super::{SHOWN_ATTEMPTS, SHOWN_ERROR_BYTES, shown_error};
use crate::id::AgentId;
use crate::text::{TextFault, bounded};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// Where a delivery stands.
    DeliveryStatus {
        /// Stored, and nothing more.
        New = "new",
        /// A socket of the agent took it.
        Delivered = "delivered",
        /// An attempt is open.
        Processing = "processing",
        /// Done; it is offered no more.
        Processed = "processed",
        /// The last attempt failed; it is offered again.
        Failed = "failed",
    }
}

/// The number of an attempt, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct AttemptNumber(pub u32);

words! {
    /// How an attempt went.
    AttemptStatus {
        /// Open.
        Processing = "processing",
        /// Closed as done.
        Success = "success",
        /// Closed as failed.
        Failed = "failed",
    }
}

/// One try at a message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// From 1, no gaps.
    pub number: AttemptNumber,
    /// How it went.
    pub status: AttemptStatus,
    /// When it was opened.
    pub started_at: Timestamp,
    /// When it was closed.
    pub completed_at: Option<Timestamp>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Why an attempt failed, in the agent's words: not blank, at most 16,384 characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailureText(String);

impl FailureText {
    /// The most characters.
    pub const MAX_CHARS: usize = 16_384;

    /// Checks; the text is kept as it is.
    pub fn new(text: String) -> Result<Self, TextFault> {
        bounded(text, Self::MAX_CHARS).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// There is no open attempt that could be closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no active processing attempt")]
pub struct NoActiveAttempt;

/// What is written in an attempt that another one replaced.
pub const SUPERSEDED: &str = "superseded by a new attempt";

/// One message on its way to one agent. Its attempts say where it stands, so that the two cannot contradict each other.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Delivery {
    /// To whom.
    pub agent: AgentId,
    /// Whether the message mentions the agent. One that does not is never offered, but the agent
    /// may keep a record of working on it.
    pub addressed: bool,
    /// When a socket took it.
    pub delivered_at: Option<Timestamp>,
    attempts: Vec<Attempt>,
}

/// Attempts that no sequence of steps leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the attempts of a delivery contradict each other")]
pub struct Inconsistent;

/// A delivery as read from the bus; the rest of its members follows from these.
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
    /// A delivery nothing has happened to.
    pub const fn new(agent: AgentId, addressed: bool) -> Self {
        Self { agent, addressed, delivered_at: None, attempts: Vec::new() }
    }

    /// A stored delivery, with its attempts or the newest of them, oldest first.
    ///
    /// # Errors
    /// [`Inconsistent`] if the numbers of the attempts do not ascend, if one before the last is open, or if an open one
    /// has an end or a closed one has none.
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

    /// Where it stands.
    pub fn status(&self) -> DeliveryStatus {
        match self.attempts.last().map(|newest| newest.status) {
            None if self.delivered_at.is_none() => DeliveryStatus::New,
            None => DeliveryStatus::Delivered,
            Some(AttemptStatus::Processing) => DeliveryStatus::Processing,
            Some(AttemptStatus::Success) => DeliveryStatus::Processed,
            Some(AttemptStatus::Failed) => DeliveryStatus::Failed,
        }
    }

    /// When it was done.
    pub fn processed_at(&self) -> Option<Timestamp> {
        self.attempts.last().filter(|newest| newest.status == AttemptStatus::Success)?.completed_at
    }

    /// Its attempts, oldest first; perhaps only the newest ones. Transitions look at the last.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// Number of the newest attempt, 0 when there is none.
    pub fn current_attempt(&self) -> u32 {
        self.attempts.last().map_or(0, |attempt| attempt.number.0)
    }

    /// A socket of the agent took the message. Only a new delivery changes.
    pub fn delivered(mut self, now: Timestamp) -> Self {
        if self.status() == DeliveryStatus::New {
            self.delivered_at = Some(now);
        }
        self
    }

    /// Opens the next attempt, whatever the state: one that is still open is closed as
    /// superseded, and a processed message is opened again.
    pub fn begin_attempt(mut self, now: Timestamp) -> Self {
        let number = AttemptNumber(self.current_attempt() + 1);
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
    /// [`NoActiveAttempt`] when an attempt is to be closed and none is open.
    pub fn step(self, step: &DeliveryStep, now: Timestamp) -> Result<Self, NoActiveAttempt> {
        match step {
            DeliveryStep::Begin => Ok(self.begin_attempt(now)),
            DeliveryStep::Succeed => self.succeed(now),
            DeliveryStep::Fail(error) => self.fail(error, now),
        }
    }

    /// As a message shows it: the newest attempts, each with the beginning of its error.
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
