//! Deadlines: the time by which the agents that a text mentions must respond.
//!
//! A text has the deadline that its sender gave, or that of its chat. After it, the text is checked once: if
//! one of the agents had not processed it by then, an event of the kind `attention` is posted in the chat. The
//! server posts the event in the name of the sender, so that a late agent does not take it for its own words; see
//! [`CheckDeadline::event`].

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::guard::notifier;
use super::mention::Mention;
use super::model::Message;
use super::port::NewMessage;
use super::service::MessageService;
use crate::chat::Participant;
use crate::event::DomainEvent;
use crate::id::{ChatId, MessageId, ParticipantId};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The number of texts that a step checks.
const STEP: u32 = 100;

/// The time from a text to its deadline that a chat gives by default: whole seconds, from 1 second to 30 days.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RespondWithin(u32);

impl RespondWithin {
    /// The maximum, in seconds.
    pub const MAX: u32 = 30 * 24 * 60 * 60;

    /// `None` if `seconds` is 0 or more than [`Self::MAX`].
    pub const fn new(seconds: u32) -> Option<Self> {
        if seconds == 0 || seconds > Self::MAX { None } else { Some(Self(seconds)) }
    }

    /// The seconds.
    pub const fn seconds(self) -> u32 {
        self.0
    }

    /// The deadline of a text that was written at `at`.
    pub fn after(self, at: Timestamp) -> Timestamp {
        at.plus(Duration::from_secs(u64::from(self.0)))
    }
}

/// The reason why a text cannot have a deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DeadlineFault {
    /// It has passed.
    #[error("must be later than now")]
    Passed,
    /// It is more than [`RespondWithin::MAX`] seconds ahead.
    #[error("must be at most 30 days ahead")]
    TooFar,
    /// No agent is mentioned that could respond.
    #[error("needs a mention of an agent")]
    NoAgent,
}

/// Checks the deadline that a sender gives.
pub(super) fn check(
    respond_by: Option<Timestamp>,
    mentions: &[Mention],
    now: Timestamp,
) -> Result<(), DeadlineFault> {
    match respond_by {
        Some(by) if by <= now => Err(DeadlineFault::Passed),
        Some(by) if by > RespondWithin(RespondWithin::MAX).after(now) => Err(DeadlineFault::TooFar),
        Some(_) if mentions.iter().all(|mention| mention.addressed_agent().is_none()) => {
            Err(DeadlineFault::NoAgent)
        }
        _ => Ok(()),
    }
}

/// A text whose deadline has passed, and that was not checked yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DueText {
    /// The text.
    pub message: MessageId,
    /// Its chat.
    pub chat: ChatId,
    /// The deadline.
    pub respond_by: Timestamp,
}

/// The check of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckDeadline {
    /// The text.
    pub text: DueText,
    /// The id of the event, if one is posted.
    pub event: MessageId,
    /// The current time.
    pub now: Timestamp,
}

/// The result of a check.
#[derive(Clone, PartialEq, Debug)]
pub enum DeadlineOutcome {
    /// This event was posted, since agents had not processed the text by its deadline.
    Missed(Box<Message>),
    /// There was nothing to post: every agent that is still in the chat met the deadline, or nobody is left who
    /// would read the event.
    Settled,
    /// It was checked before, or was deleted.
    Gone,
}

impl CheckDeadline {
    /// The event to be posted, if any. Pure; the stores call this on the locked text with its deliveries, and
    /// on the participants of its chat, oldest first.
    ///
    /// Agents are late that are still in the chat and had not processed the text by then, unless another message
    /// had replaced it for them: that message has a deadline of its own. The event is in the name of the sender of
    /// the text. If the sender has left, it is in the name of the human with the highest role, who joined
    /// first; without a human in the chat, nobody would read it.
    pub fn event(&self, text: &Message, participants: &[Participant]) -> Option<NewMessage> {
        let respond_by = text.respond_by?;
        let present = |id: ParticipantId| participants.iter().find(|participant| participant.id == id);
        let in_time = |at: Timestamp| at <= respond_by;
        let unprocessed = text.deliveries.iter().filter(|delivery| {
            let is_replaced =
                delivery.dead().is_some_and(|dead| dead.replaced_by.is_some() && in_time(dead.at));
            delivery.is_addressed() && !delivery.processed_at().is_some_and(in_time) && !is_replaced
        });
        let late = unprocessed.filter_map(|delivery| present(ParticipantId::Agent(delivery.agent())));
        let late = late.collect::<Vec<_>>();
        if late.is_empty() {
            return None;
        }
        let sender = notifier(text.sender, participants)?;
        let agents = late.iter().map(|agent| agent.id.to_string()).collect::<Vec<_>>();
        let metadata = json!({
            "kind": "failure",
            "blocking": false,
            "message_id": text.id.to_string(),
            "respond_by": respond_by.to_string(),
            "agents": agents,
        });
        let content = sentence(text.created_at, respond_by, &late);
        Some(NewMessage::notice(self.event, text, sender, content, &metadata, self.now))
    }
}

/// The text of the event.
fn sentence(written_at: Timestamp, respond_by: Timestamp, late: &[&Participant]) -> String {
    let handles = late.iter().map(|agent| format!("@{}", agent.handle)).collect::<Vec<_>>();
    format!(
        "The deadline of the message sent at {} passed at {}. Not processed by then: {}.",
        to_the_second(written_at),
        to_the_second(respond_by),
        handles.join(", ")
    )
}

/// `2026-07-01 10:00:00 UTC`.
fn to_the_second(at: Timestamp) -> String {
    let text = at.to_string();
    let whole = text.split('.').next().unwrap_or(&text);
    format!("{} UTC", whole.replace('T', " "))
}

/// The walk of one process along the texts whose deadlines have passed. A text that cannot be checked is
/// passed over until the walk begins again, so that no text waits for a broken one.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeadlineWalk {
    after: Option<(Timestamp, MessageId)>,
}

/// The result of a step of the walk.
#[derive(Debug, Default)]
pub struct CheckedDeadlines {
    /// The number of events that were posted.
    pub missed: u64,
    /// The texts that could not be checked, with the reasons.
    pub failed: Vec<(MessageId, StoreError)>,
}

impl MessageService {
    /// Checks the next texts whose deadlines have passed, at most 100, by deadline. Several processes may do
    /// so at the same time.
    pub async fn check_deadlines(&self, walk: &mut DeadlineWalk) -> Result<CheckedDeadlines, StoreError> {
        let now = self.clock.now();
        let due = self.messages.due_texts(now, walk.after.take(), STEP).await?;
        let mut checked = CheckedDeadlines::default();
        for text in &due {
            let event = MessageId::new(self.ids.generate(now));
            let events = self.events.clone();
            let on_commit = OnCommit::new(move |outcome: &DeadlineOutcome| {
                if let DeadlineOutcome::Missed(message) = outcome {
                    events.publish(DomainEvent::EventCreated { message: (**message).clone() });
                }
            });
            match self.messages.check_deadline(CheckDeadline { text: *text, event, now }, on_commit).await {
                Ok(DeadlineOutcome::Missed(_)) => checked.missed += 1,
                Ok(DeadlineOutcome::Settled | DeadlineOutcome::Gone) => {}
                Err(error) => {
                    let is_down = matches!(error, StoreError::Unavailable(_));
                    checked.failed.push((text.message, error));
                    if is_down {
                        // The others would wait as long; the next step continues after this one.
                        walk.after = Some(text.key());
                        return Ok(checked);
                    }
                }
            }
        }
        if due.len() >= STEP as usize {
            walk.after = due.last().map(DueText::key);
        }
        Ok(checked)
    }
}

impl DeadlineWalk {
    /// Returns whether the walk goes on from the last step, because that was full or the store failed.
    pub const fn is_under_way(&self) -> bool {
        self.after.is_some()
    }
}

impl DueText {
    /// Its place in the order of the walk.
    const fn key(&self) -> (Timestamp, MessageId) {
        (self.respond_by, self.message)
    }
}

#[cfg(test)]
mod tests;
