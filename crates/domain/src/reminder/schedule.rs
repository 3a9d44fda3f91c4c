//! Scheduling a text.

use std::time::Duration;

use super::model::{MAX_REMINDER_BYTES, Reminder};
use super::port::{CreateReminderRefused, NewReminder, PriorReminder};
use super::recurrence::Recurrence;
use super::service::ReminderService;
use crate::caller::Caller;
use crate::id::{ChatId, ReminderId};
use crate::idempotency::{KeyedRequest, Operation};
use crate::message::{SendHeaders, SendMessage, SendMessageError, TraceParent};
use crate::store::StoreError;
use crate::time::Timestamp;

/// How far ahead a text can be scheduled: a year and a day.
const MAX_AHEAD: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// A text to be sent later.
#[derive(Clone, Debug)]
pub struct ScheduleText {
    /// The text.
    pub text: SendMessage,
    /// When it is sent first.
    pub deliver_at: Option<Timestamp>,
    /// How often it is repeated; `None` if it is sent once.
    pub every: Option<Recurrence>,
}

/// The reason why a text cannot be sent later.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ScheduleFault {
    /// It has a recurrence, but no time.
    #[error("is required with every")]
    NoTime,
    /// The time has passed.
    #[error("must be later than now")]
    Passed,
    /// The time is more than a year and a day ahead.
    #[error("must be at most 366 days ahead")]
    TooFar,
    /// The time is none of the recurrence.
    #[error("must include deliver_at: on a day of BYDAY, and not after UNTIL")]
    NoOccurrence,
    /// It has a deadline.
    #[error("cannot be combined with deliver_at; the room's default deadline applies")]
    HasDeadline,
    /// It has attachments.
    #[error("cannot be combined with deliver_at")]
    HasAttachments,
    /// It answers an attention item, which only a text that is sent now can do.
    #[error("names something that waits for an answer, which cannot be scheduled")]
    Answers,
    /// It is too large.
    #[error("must have at most {} bytes with deliver_at", MAX_REMINDER_BYTES)]
    TooLong,
}

/// The reason why a text was not scheduled.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleTextError {
    /// It could not be sent now either.
    #[error(transparent)]
    Send(#[from] SendMessageError),
    /// It cannot be sent later.
    #[error(transparent)]
    Fault(#[from] ScheduleFault),
    /// There are as many open reminders as there may be.
    #[error("there are {limit} open reminders, the maximum")]
    TooMany {
        /// The maximum.
        limit: u32,
        /// The chat, if the limit is that of the chat and not of the sender.
        chat: Option<ChatId>,
    },
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ScheduleText {
    /// Checks the time, and what cannot be combined with one.
    fn check(&self, answers: bool, now: Timestamp) -> Result<Timestamp, ScheduleFault> {
        let at = self.deliver_at.ok_or(ScheduleFault::NoTime)?;
        if at <= now {
            return Err(ScheduleFault::Passed);
        }
        if at > now.plus(MAX_AHEAD) {
            return Err(ScheduleFault::TooFar);
        }
        if self.every.is_some_and(|every| !every.can_begin_at(at)) {
            return Err(ScheduleFault::NoOccurrence);
        }
        if self.text.respond_by.is_some() {
            return Err(ScheduleFault::HasDeadline);
        }
        if !self.text.attachments.is_empty() {
            return Err(ScheduleFault::HasAttachments);
        }
        if answers {
            return Err(ScheduleFault::Answers);
        }
        if self.text.content.as_str().len() > MAX_REMINDER_BYTES {
            Err(ScheduleFault::TooLong)
        } else {
            Ok(at)
        }
    }
}

impl ReminderService {
    /// Stores a text that is sent later, or refuses it as a whole: by the rules of a text that is sent now, except that it
    /// may mention its sender. A text that was scheduled under the same key before is not scheduled again.
    pub async fn schedule(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        command: ScheduleText,
        headers: impl Into<SendHeaders>,
    ) -> Result<Reminder, ScheduleTextError> {
        let (caller, SendHeaders { once, traceparent, .. }) = (caller.into(), headers.into());
        // One operation for texts that are sent now or later, so that a key is used for one of them.
        let (sender, operation) = (caller.participant(), Operation::SendMessage);
        let keyed = KeyedRequest::of(sender, operation, Some(chat.into()), once);
        let named = command.text.in_reply_to;
        let refused = match self.try_schedule(caller, chat, command, traceparent, keyed.clone()).await {
            Ok(reminder) => {
                self.messages.note_work(caller, chat, named).await;
                return Ok(reminder);
            }
            Err(refused) => refused,
        };
        let is_unknown = matches!(
            refused,
            ScheduleTextError::Store(_) | ScheduleTextError::Send(SendMessageError::Store(_))
        );
        let (Some(keyed), false) = (keyed, is_unknown) else { return Err(refused) };
        // A repeated request gets the same answer as before, even if the time has passed since.
        match self.reminders.find_prior_reminder(keyed).await? {
            PriorReminder::Reminder(first) => Ok(*first),
            PriorReminder::AnotherRequest => Err(SendMessageError::KeyReused.into()),
            PriorReminder::Nothing => Err(refused),
        }
    }

    async fn try_schedule(
        &self,
        caller: Caller,
        chat: ChatId,
        command: ScheduleText,
        traceparent: Option<TraceParent>,
        keyed: Option<KeyedRequest>,
    ) -> Result<Reminder, ScheduleTextError> {
        let now = self.clock.now();
        let composed = self.messages.compose_later(caller, chat, &command.text).await?;
        let first_at = command.check(composed.answers, now)?;
        let new = NewReminder {
            id: ReminderId::new(self.ids.generate(now)),
            chat,
            sender: caller.participant(),
            sender_handle: composed.sender_handle,
            content: composed.content,
            mentions: composed.mentions,
            first_at,
            every: command.every,
            cause: composed.cause,
            traceparent: traceparent.or(composed.traceparent),
            follows_foreign: composed.follows_foreign,
            keyed,
            now,
        };
        match self.reminders.create_reminder(new).await? {
            Ok(reminder) => Ok(reminder),
            Err(CreateReminderRefused::Repeated(first)) => Ok(*first),
            Err(CreateReminderRefused::KeyReused) => Err(SendMessageError::KeyReused.into()),
            Err(CreateReminderRefused::NotParticipant) => Err(SendMessageError::ChatNotFound.into()),
            Err(CreateReminderRefused::Stopped) => Err(SendMessageError::Stopped.into()),
            Err(CreateReminderRefused::TooMany { limit, chat }) => {
                Err(ScheduleTextError::TooMany { limit, chat })
            }
        }
    }
}
