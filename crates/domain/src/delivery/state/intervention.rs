//! Changes of a delivery that its agent does not make: it becomes dead after too many attempts, and
//! those who are responsible for the agent dead-letter it, retry it, or replace it by another message. Pure.
//!
//! A *dead* delivery is not offered any more; its attempts are kept. A *held* one was never offered, since its
//! message is over a limit: it is dead as well, until it is retried, and says which limit. A *restart* offers a delivery as
//! if it were new: earlier attempts are kept and their numbers go on, but they count towards neither
//! its status nor the limit.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::{Attempt, AttemptNumber, AttemptState, AttemptStatus, Delivery, DeliveryStatus, Inconsistent};
use crate::budget::Budget;
use crate::id::MessageId;
use crate::text::{TextFault, bounded};
use crate::time::Timestamp;
use crate::words::words;

/// The number of attempts that an agent makes at a message before the delivery is dead: 1 to 1,000.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct MaxAttempts(NonZeroU32);

impl MaxAttempts {
    /// The largest number.
    pub const MAX: u32 = 1_000;

    /// The limit; `None` if it is 0 or more than [`Self::MAX`].
    pub fn new(number: u32) -> Option<Self> {
        NonZeroU32::new(number).filter(|number| number.get() <= Self::MAX).map(Self)
    }

    /// The number itself.
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl TryFrom<u32> for MaxAttempts {
    type Error = Inconsistent;

    fn try_from(number: u32) -> Result<Self, Inconsistent> {
        Self::new(number).ok_or(Inconsistent)
    }
}

impl From<MaxAttempts> for u32 {
    fn from(max: MaxAttempts) -> Self {
        max.get()
    }
}

/// The point from which a delivery is offered as if it were new.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Restart {
    /// The newest attempt at that time; `None` if there was none.
    pub after: Option<AttemptNumber>,
    /// The time.
    pub at: Timestamp,
}

words! {
    /// The limit, or the policy, by which a delivery is held.
    HeldBy {
        /// Its message follows from the root of its tree over too many others
        /// ([`MaxHops`](crate::message::MaxHops)).
        MaxHops = "max_hops",
        /// Its tree has too many messages.
        MaxTreeMessages = "max_tree_messages",
        /// Two agents have sent each other too many texts without a known cause
        /// ([`MaxPairMessages`](crate::message::MaxPairMessages)).
        MaxPairMessages = "max_pair_messages",
        /// It follows from a message of another organization than the agent's
        /// ([`ForeignPolicy::Hold`](crate::foreign::ForeignPolicy)).
        Foreign = "foreign",
        /// The other ones are exceeded [budgets](crate::budget::Budget): that of the texts of a tree.
        TreeMessages = "tree_messages",
        /// That of the tokens of a tree.
        TreeTokens = "tree_tokens",
        /// That of the texts of a room.
        RoomMessages = "room_messages",
        /// That of the tokens of a room.
        RoomTokens = "room_tokens",
        /// That of the texts of an agent.
        AgentMessages = "agent_messages",
        /// That of the tokens of an agent.
        AgentTokens = "agent_tokens",
        /// That of the texts of an organization.
        OrganizationMessages = "organization_messages",
        /// That of the tokens of an organization.
        OrganizationTokens = "organization_tokens",
    }
}

impl HeldBy {
    /// The budget, if it is one.
    pub fn budget(self) -> Option<Budget> {
        Budget::parse(self.as_str())
    }

    /// The reason of a held delivery.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::MaxHops => "held: too many messages lead from the first one to this one",
            Self::MaxTreeMessages => "held: too many messages have followed from the first one",
            Self::MaxPairMessages => "held: two agents have sent each other too many messages",
            Self::Foreign => "held: it follows from a message of another organization",
            Self::TreeMessages => "held: the budget of messages that follow from one message is used up",
            Self::TreeTokens => "held: the budget of tokens for what follows from one message is used up",
            Self::RoomMessages => "held: the room's budget of messages for the day is used up",
            Self::RoomTokens => "held: the room's budget of tokens for the day is used up",
            Self::AgentMessages => "held: the agent's budget of messages for the day is used up",
            Self::AgentTokens => "held: the agent's budget of tokens for the day is used up",
            Self::OrganizationMessages => {
                "held: the organization's budget of messages for the day is used up"
            }
            Self::OrganizationTokens => "held: the organization's budget of tokens for the day is used up",
        }
    }
}

/// The end of a delivery that was not processed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The time.
    pub at: Timestamp,
    /// The reason: that of the human who took it out of the queue, or the number of attempts.
    pub reason: String,
    /// The message that replaces it, if its text was sent again. It stays dead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<MessageId>,
    /// The limit that holds it; `None` if it is dead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<HeldBy>,
}

impl DeadLetter {
    /// Returns whether the sender of the message has cancelled it.
    pub fn is_cancelled(&self) -> bool {
        self.reason == CANCELLED && self.held_by.is_none()
    }

    /// Returns whether the agent has used up its attempts, so that nobody has decided to end it.
    pub fn is_exhausted(&self) -> bool {
        self.held_by.is_none() && self.reason.starts_with(EXHAUSTED)
    }
}

/// The reason of a delivery that the sender of its message has cancelled.
const CANCELLED: &str = "Cancelled by its sender over A2A.";

/// The beginning of the reason of a delivery whose agent has used up its attempts.
const EXHAUSTED: &str = "not processed after ";

/// The reason for taking a delivery out of the queue: not blank, at most 500 characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadLetterReason(String);

impl DeadLetterReason {
    /// The maximum number of characters.
    pub const MAX_CHARS: usize = 500;

    /// Checks the text, which is kept unchanged.
    pub fn new(text: String) -> Result<Self, TextFault> {
        bounded(text, Self::MAX_CHARS).map(Self)
    }

    /// The reason of the sender of the message.
    pub fn cancelled() -> Self {
        Self(CANCELLED.to_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The reason why a delivery is neither offered again nor taken out of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InterventionRefused {
    /// Its status does not allow that.
    Status(DeliveryStatus),
    /// An attempt is open, and has not been for long enough to be stuck.
    InProgress,
    /// The message does not mention the agent, so it is not in the queue.
    NotAddressed,
    /// This message replaces it already.
    Replaced(MessageId),
}

/// The error of an open attempt that a retry has ended.
const ENDED_BY_RETRY: &str = "ended by a retry";

/// The error of the last allowed attempt, which its agent began again instead of closing it.
pub(in crate::delivery) const NO_RESULT: &str = "ended without a result";

impl Delivery {
    /// The delivery with its stored restart and end.
    ///
    /// # Errors
    /// [`Inconsistent`] if it is dead and processed, or dead with an open attempt, or if the restart
    /// follows an attempt that does not exist.
    pub fn with_interventions(
        self,
        restart: Option<Restart>,
        dead: Option<DeadLetter>,
    ) -> Result<Self, Inconsistent> {
        let newest = self.attempts.last();
        let is_over = newest.is_none_or(|newest| newest.status() == AttemptStatus::Failed);
        let is_known = restart.and_then(|restart| restart.after) <= newest.map(|newest| newest.number);
        if (dead.is_none() || is_over) && is_known {
            Ok(Self { restart, dead, ..self })
        } else {
            Err(Inconsistent)
        }
    }

    /// The last time at which it was offered as if it were new.
    pub const fn restart(&self) -> Option<Restart> {
        self.restart
    }

    /// A new delivery that is not offered, because its message is over a limit.
    #[must_use]
    pub fn held(self, by: HeldBy, now: Timestamp) -> Self {
        let reason = by.reason().to_owned();
        Self { dead: Some(DeadLetter { at: now, reason, replaced_by: None, held_by: Some(by) }), ..self }
    }

    /// The limit that holds it.
    pub fn held_by(&self) -> Option<HeldBy> {
        self.dead.as_ref()?.held_by
    }

    /// Its end, if it was not processed and is not offered any more, or the hold.
    pub const fn dead(&self) -> Option<&DeadLetter> {
        self.dead.as_ref()
    }

    /// The message that replaces it, if its text was sent again.
    pub fn replaced_by(&self) -> Option<MessageId> {
        self.dead.as_ref()?.replaced_by
    }

    /// Forgets the message that replaces it: that one is gone, or its agent has left without an answer.
    #[must_use]
    pub fn without_replacement(mut self) -> Self {
        if let Some(dead) = &mut self.dead {
            dead.replaced_by = None;
        }
        self
    }

    /// Returns whether an attempt counts towards the status and the limit.
    pub fn counts(&self, attempt: &Attempt) -> bool {
        Some(attempt.number) > self.restart.and_then(|restart| restart.after)
    }

    /// The newest attempt, if it counts.
    pub(super) fn counted_attempt(&self) -> Option<&Attempt> {
        self.attempts.last().filter(|newest| self.counts(newest))
    }

    /// The number of attempts that count. It needs the newest attempt only.
    fn counted_attempts(&self) -> u32 {
        let number = |number: Option<AttemptNumber>| number.map_or(0, AttemptNumber::get);
        let before = number(self.restart.and_then(|restart| restart.after));
        number(self.current_attempt()).saturating_sub(before)
    }

    /// Returns whether the agent has made all its attempts without success. A record that is not
    /// addressed has no limit, since it is not offered.
    pub(super) fn is_exhausted(&self, max: Option<MaxAttempts>) -> bool {
        let is_used_up = max.is_some_and(|max| self.counted_attempts() >= max.get());
        is_used_up && self.addressed && self.processed_at().is_none()
    }

    /// Ends a delivery that is exhausted.
    pub(super) fn end_exhausted(mut self, now: Timestamp) -> Self {
        self.close(AttemptState::Failed { at: now, error: NO_RESULT.to_owned() });
        let reason = match self.counted_attempts() {
            1 => format!("{EXHAUSTED}1 attempt"),
            number => format!("{EXHAUSTED}{number} attempts"),
        };
        Self { dead: Some(DeadLetter { at: now, reason, replaced_by: None, held_by: None }), ..self }
    }

    /// Offers the delivery as if it were new: one that was taken or failed, one whose open attempt
    /// began at `stuck_since` or before, which ends, a dead one, or a held one.
    pub fn retry(mut self, stuck_since: Timestamp, now: Timestamp) -> Result<Self, InterventionRefused> {
        self.check_not_in_progress(stuck_since)?;
        if self.status() == DeliveryStatus::New {
            return Err(InterventionRefused::Status(DeliveryStatus::New));
        }
        self.close(AttemptState::Failed { at: now, error: ENDED_BY_RETRY.to_owned() });
        let restart = Some(Restart { after: self.current_attempt(), at: now });
        Ok(Self { delivered_at: None, restart, dead: None, ..self })
    }

    /// Takes the delivery out of the queue. An open attempt ends as failed.
    pub fn dead_letter(self, reason: &DeadLetterReason, now: Timestamp) -> Result<Self, InterventionRefused> {
        self.check_open()?;
        if self.status() == DeliveryStatus::Dead {
            return Err(InterventionRefused::Status(DeliveryStatus::Dead));
        }
        let reason = reason.as_str().to_owned();
        Ok(self.end(DeadLetter { at: now, reason, replaced_by: None, held_by: None }))
    }

    /// Takes the delivery out of the queue, or has it stay dead, because the message `by` replaces it. An open
    /// attempt that began at `stuck_since` or before ends as failed.
    pub fn replace(
        self,
        by: MessageId,
        reason: String,
        stuck_since: Timestamp,
        now: Timestamp,
    ) -> Result<Self, InterventionRefused> {
        self.check_not_in_progress(stuck_since)?;
        Ok(self.end(DeadLetter { at: now, reason, replaced_by: Some(by), held_by: None }))
    }

    /// Refuses what is not in the queue, was processed, or was replaced.
    fn check_open(&self) -> Result<(), InterventionRefused> {
        if !self.addressed {
            return Err(InterventionRefused::NotAddressed);
        }
        if let Some(by) = self.replaced_by() {
            return Err(InterventionRefused::Replaced(by));
        }
        match self.status() {
            DeliveryStatus::Processed => Err(InterventionRefused::Status(DeliveryStatus::Processed)),
            _ => Ok(()),
        }
    }

    /// Refuses what [`Self::check_open`] refuses, and what the agent works on: the open attempt began after
    /// `stuck_since`.
    fn check_not_in_progress(&self, stuck_since: Timestamp) -> Result<(), InterventionRefused> {
        self.check_open()?;
        let is_processing = self.status() == DeliveryStatus::Processing;
        if is_processing && self.attempts.last().is_some_and(|open| open.started_at > stuck_since) {
            return Err(InterventionRefused::InProgress);
        }
        Ok(())
    }

    fn end(mut self, dead: DeadLetter) -> Self {
        self.close(AttemptState::Failed { at: dead.at, error: format!("dead-lettered: {}", dead.reason) });
        Self { dead: Some(dead), ..self }
    }
}

#[cfg(test)]
mod tests;
