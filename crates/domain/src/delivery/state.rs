//! The state machine of a delivery. Pure.

use std::borrow::Cow;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize, Serializer};

mod intervention;
mod step;

use super::{SHOWN_ATTEMPTS, SHOWN_ERROR_BYTES, shown_error};
use crate::id::AgentId;
use crate::text::{TextFault, bounded};
use crate::time::Timestamp;
use crate::words::words;
pub(super) use intervention::NO_RESULT;
pub use intervention::{DeadLetter, DeadLetterReason, HeldBy, InterventionRefused, MaxAttempts, Restart};
pub use step::StepRefused;

words! {
    /// The status of a delivery.
    DeliveryStatus {
        /// Offered, and not yet taken by a socket.
        New = "new",
        /// A socket of the agent took it.
        Delivered = "delivered",
        /// An attempt is open.
        Processing = "processing",
        /// Done; it is not offered any more.
        Processed = "processed",
        /// The last attempt failed; it is offered again.
        Failed = "failed",
        /// Taken out of the queue; it is not offered any more until somebody retries it.
        Dead = "dead",
        /// Held by a limit; it is not offered until somebody retries it.
        Held = "held",
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

/// The state of an attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttemptState {
    /// The agent works on it.
    Open,
    /// Closed as done.
    Succeeded {
        /// The time at which it was closed.
        at: Timestamp,
    },
    /// Closed as failed.
    Failed {
        /// The time at which it was closed.
        at: Timestamp,
        /// The reason.
        error: String,
    },
}

/// One attempt at a message.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "AttemptRecord<'static>")]
pub struct Attempt {
    /// Its number.
    pub number: AttemptNumber,
    /// The time at which it was opened.
    pub started_at: Timestamp,
    /// Its state.
    pub state: AttemptState,
}

/// An attempt on the bus, with the members that its state implies.
#[derive(Serialize, Deserialize)]
struct AttemptRecord<'a> {
    number: AttemptNumber,
    status: AttemptStatus,
    started_at: Timestamp,
    completed_at: Option<Timestamp>,
    error: Option<Cow<'a, str>>,
}

impl TryFrom<AttemptRecord<'_>> for Attempt {
    type Error = Inconsistent;

    fn try_from(record: AttemptRecord<'_>) -> Result<Self, Inconsistent> {
        let AttemptRecord { number, status, started_at, completed_at, error } = record;
        Self::restore(number, status, started_at, completed_at, error.map(Cow::into_owned))
    }
}

impl Serialize for Attempt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = AttemptRecord {
            number: self.number,
            status: self.status(),
            started_at: self.started_at,
            completed_at: self.completed_at(),
            error: self.error().map(Cow::Borrowed),
        };
        record.serialize(serializer)
    }
}

impl Attempt {
    /// A stored attempt.
    ///
    /// # Errors
    /// [`Inconsistent`] if an open one has an end, or a closed one has none, or if one has an error
    /// that did not fail, or failed without one.
    pub fn restore(
        number: AttemptNumber,
        status: AttemptStatus,
        started_at: Timestamp,
        completed_at: Option<Timestamp>,
        error: Option<String>,
    ) -> Result<Self, Inconsistent> {
        let state = match (status, completed_at, error) {
            (AttemptStatus::Processing, None, None) => AttemptState::Open,
            (AttemptStatus::Success, Some(at), None) => AttemptState::Succeeded { at },
            (AttemptStatus::Failed, Some(at), Some(error)) => AttemptState::Failed { at, error },
            _ => return Err(Inconsistent),
        };
        Ok(Self { number, started_at, state })
    }

    /// Its status.
    pub const fn status(&self) -> AttemptStatus {
        match self.state {
            AttemptState::Open => AttemptStatus::Processing,
            AttemptState::Succeeded { .. } => AttemptStatus::Success,
            AttemptState::Failed { .. } => AttemptStatus::Failed,
        }
    }

    /// The time at which it was closed.
    pub const fn completed_at(&self) -> Option<Timestamp> {
        match self.state {
            AttemptState::Open => None,
            AttemptState::Succeeded { at } | AttemptState::Failed { at, .. } => Some(at),
        }
    }

    /// The reason of its failure.
    pub fn error(&self) -> Option<&str> {
        match &self.state {
            AttemptState::Failed { error, .. } => Some(error),
            AttemptState::Open | AttemptState::Succeeded { .. } => None,
        }
    }
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

/// One message on its way to one agent. Its status follows from its attempts and from what humans did
/// about it, so that they cannot contradict each other.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Delivery {
    agent: AgentId,
    addressed: bool,
    delivered_at: Option<Timestamp>,
    attempts: Vec<Attempt>,
    claimed_until: Option<Timestamp>,
    restart: Option<Restart>,
    dead: Option<DeadLetter>,
}

/// An attempt, or several of one delivery, that no sequence of steps produces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the attempts of a delivery are inconsistent")]
pub struct Inconsistent;

/// A delivery as read from the bus; its other members follow from these.
#[derive(Deserialize)]
struct Stored {
    agent: AgentId,
    addressed: bool,
    delivered_at: Option<Timestamp>,
    attempts: Vec<Attempt>,
    #[serde(default)]
    claimed_until: Option<Timestamp>,
    #[serde(default)]
    restart: Option<Restart>,
    #[serde(default)]
    dead: Option<DeadLetter>,
}

impl TryFrom<Stored> for Delivery {
    type Error = Inconsistent;

    fn try_from(stored: Stored) -> Result<Self, Inconsistent> {
        let Stored { agent, addressed, delivered_at, attempts, claimed_until, restart, dead } = stored;
        let delivery = Self::restore(agent, addressed, delivered_at, attempts)?;
        delivery.with_claim(claimed_until).with_interventions(restart, dead)
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
            #[serde(skip_serializing_if = "Option::is_none")]
            claimed_until: Option<Timestamp>,
            #[serde(skip_serializing_if = "Option::is_none")]
            restart: Option<Restart>,
            #[serde(skip_serializing_if = "Option::is_none")]
            dead: Option<&'a DeadLetter>,
        }

        let Self { agent, addressed, delivered_at, attempts, claimed_until, restart, dead } = self;
        Shown {
            agent: *agent,
            addressed: *addressed,
            status: self.status(),
            delivered_at: *delivered_at,
            processed_at: self.processed_at(),
            attempts,
            claimed_until: *claimed_until,
            restart: *restart,
            dead: dead.as_ref(),
        }
        .serialize(serializer)
    }
}

impl Delivery {
    /// A new delivery of a message that mentions the agent.
    pub const fn new(agent: AgentId) -> Self {
        Self {
            agent,
            addressed: true,
            delivered_at: None,
            attempts: Vec::new(),
            claimed_until: None,
            restart: None,
            dead: None,
        }
    }

    /// The record of work on a message that does not mention the agent: it is never offered.
    pub fn unaddressed(agent: AgentId) -> Self {
        Self { addressed: false, ..Self::new(agent) }
    }

    /// A stored delivery, with its attempts or the newest of them, oldest first. Retention may have
    /// erased others in between.
    ///
    /// # Errors
    /// [`Inconsistent`] if the numbers of the attempts do not ascend, or if one before the last is
    /// open.
    pub fn restore(
        agent: AgentId,
        addressed: bool,
        delivered_at: Option<Timestamp>,
        attempts: Vec<Attempt>,
    ) -> Result<Self, Inconsistent> {
        if attempts.is_sorted_by(|one, next| one.number < next.number && one.state != AttemptState::Open) {
            Ok(Self { addressed, delivered_at, attempts, ..Self::new(agent) })
        } else {
            Err(Inconsistent)
        }
    }

    /// The receiving agent.
    pub const fn agent(&self) -> AgentId {
        self.agent
    }

    /// Returns whether the message mentions the agent. One that does not is never offered, but the
    /// agent may record its work on it.
    pub const fn is_addressed(&self) -> bool {
        self.addressed
    }

    /// The time at which a socket took it.
    pub const fn delivered_at(&self) -> Option<Timestamp> {
        self.delivered_at
    }

    /// Its status.
    pub fn status(&self) -> DeliveryStatus {
        match &self.dead {
            Some(dead) if dead.held_by.is_some() => return DeliveryStatus::Held,
            Some(_) => return DeliveryStatus::Dead,
            None => {}
        }
        match self.counted_attempt().map(Attempt::status) {
            None if self.delivered_at.is_none() => DeliveryStatus::New,
            None => DeliveryStatus::Delivered,
            Some(AttemptStatus::Processing) => DeliveryStatus::Processing,
            Some(AttemptStatus::Success) => DeliveryStatus::Processed,
            Some(AttemptStatus::Failed) => DeliveryStatus::Failed,
        }
    }

    /// The time at which it was done.
    pub fn processed_at(&self) -> Option<Timestamp> {
        match self.attempts.last()?.state {
            AttemptState::Succeeded { at } => Some(at),
            AttemptState::Open | AttemptState::Failed { .. } => None,
        }
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

    /// Opens the next attempt in any state but *dead* and *held*: an open one is closed as superseded, and a
    /// processed message is opened again.
    pub(crate) fn begin_attempt(mut self, now: Timestamp) -> Self {
        let number = self.current_attempt().map_or(AttemptNumber::FIRST, AttemptNumber::next);
        self.close(AttemptState::Failed { at: now, error: SUPERSEDED.to_owned() });
        self.attempts.push(Attempt { number, started_at: now, state: AttemptState::Open });
        self
    }

    /// Closes the open attempt as done.
    pub fn succeed(mut self, now: Timestamp) -> Result<Self, NoActiveAttempt> {
        let is_closed = self.close(AttemptState::Succeeded { at: now });
        is_closed.then_some(self).ok_or(NoActiveAttempt)
    }

    /// Closes the open attempt as failed; the message is offered again.
    pub fn fail(mut self, error: &FailureText, now: Timestamp) -> Result<Self, NoActiveAttempt> {
        let is_closed = self.close(AttemptState::Failed { at: now, error: error.as_str().to_owned() });
        is_closed.then_some(self).ok_or(NoActiveAttempt)
    }

    /// The shown form: the newest attempts, each with the beginning of its error.
    #[must_use]
    pub fn shown(mut self) -> Self {
        let hidden = self.attempts.len().saturating_sub(SHOWN_ATTEMPTS as usize);
        self.attempts.drain(..hidden);
        for attempt in &mut self.attempts {
            if let AttemptState::Failed { error, .. } = &mut attempt.state
                && error.len() > SHOWN_ERROR_BYTES
            {
                *error = shown_error(error.as_bytes()[..=SHOWN_ERROR_BYTES].to_vec());
            }
        }
        self
    }

    /// Closes the open attempt and ends its claim; returns whether one was open.
    fn close(&mut self, state: AttemptState) -> bool {
        let open = self.attempts.last_mut().filter(|newest| newest.state == AttemptState::Open);
        self.claimed_until = None;
        open.map(|open| open.state = state).is_some()
    }
}

#[cfg(test)]
mod tests;
