//! The store of reminders.

use async_trait::async_trait;

use super::cancel::{CancelReminder, CancelReminderRefused};
use super::model::{Occurrence, Reminder, ReminderState};
use super::recurrence::Recurrence;
use super::send::{ReminderOutcome, SendReminder};
use crate::id::{ChatId, ParticipantId, ReminderId};
use crate::idempotency::KeyedRequest;
use crate::message::{Cause, Mention, TraceParent};
use crate::page::{Page, PageRequest};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The maximum number of reminders of a sender that have not ended.
pub const MAX_OPEN_OF_SENDER: u32 = 100;

/// The maximum number of reminders of a chat that have not ended.
pub const MAX_OPEN_OF_CHAT: u32 = 500;

/// The maximum number of reminders of a sender that have ended and can be read.
pub const MAX_ENDED_OF_SENDER: u32 = 100;

/// A reminder to be stored.
#[derive(Clone, PartialEq, Debug)]
pub struct NewReminder {
    /// Identifier.
    pub id: ReminderId,
    /// The chat.
    pub chat: ChatId,
    /// The sender.
    pub sender: ParticipantId,
    /// The sender's handle, without `@`.
    pub sender_handle: String,
    /// The text as it is stored.
    pub content: String,
    /// The mentioned participants.
    pub mentions: Vec<Mention>,
    /// The time of the first occurrence.
    pub first_at: Timestamp,
    /// How often it is repeated.
    pub every: Option<Recurrence>,
    /// What it follows from, if that is given. The store adds what the attempts of a sending agent tell
    /// ([`Self::into_reminder`]).
    pub cause: Cause,
    /// The place in a trace that the sender states, or of a given cause.
    pub traceparent: Option<TraceParent>,
    /// Set if a given cause is foreign to the chat.
    pub follows_foreign: bool,
    /// Set for a request with an idempotency key.
    pub keyed: Option<KeyedRequest>,
    /// The current time.
    pub now: Timestamp,
}

impl NewReminder {
    /// Checks the standing of the sender and the numbers of open reminders. `is_halted` is set if the sender is stopped or
    /// paused in the chat; `of_sender` and `of_chat` are the numbers without this one.
    ///
    /// # Errors
    /// [`CreateReminderRefused::Stopped`] for a halted agent, otherwise [`CreateReminderRefused::TooMany`].
    pub fn check(&self, is_halted: bool, of_sender: i64, of_chat: i64) -> Result<(), CreateReminderRefused> {
        if is_halted && self.sender.agent().is_some() {
            return Err(CreateReminderRefused::Stopped);
        }
        let counts = [(of_sender, MAX_OPEN_OF_SENDER, None), (of_chat, MAX_OPEN_OF_CHAT, Some(self.chat))];
        match counts.into_iter().find(|(open, limit, _)| *open >= i64::from(*limit)) {
            Some((_, limit, chat)) => Err(CreateReminderRefused::TooMany { limit, chat }),
            None => Ok(()),
        }
    }

    /// The reminder right after its creation. `observed` is the cause by the attempts of a sending agent, with the place
    /// of that cause in a trace, and whether it is foreign to the chat.
    pub fn into_reminder(self, observed: Option<(Cause, Option<TraceParent>, bool)>) -> Reminder {
        let (observed, trace, is_foreign) = observed.unwrap_or_default();
        let follows_attempt = self.cause.is_none();
        Reminder {
            id: self.id,
            chat: self.chat,
            sender: self.sender,
            sender_handle: self.sender_handle,
            content: self.content,
            mentions: self.mentions,
            first_at: self.first_at,
            every: self.every,
            due: Occurrence { at: self.first_at, number: 1 },
            sent: 0,
            last_sent: None,
            last_failure: None,
            cause: self.cause.or_observed(observed),
            traceparent: self.traceparent.or(trace.filter(|_| follows_attempt)),
            follows_foreign: self.follows_foreign || is_foreign,
            created_at: self.now,
            ended: None,
            cancelled_by: None,
        }
    }
}

/// The reason why no reminder was stored.
#[derive(Clone, PartialEq, Debug)]
pub enum CreateReminderRefused {
    /// The sender is not in the chat, or it does not exist.
    NotParticipant,
    /// The sender is an agent that is stopped in the chat.
    Stopped,
    /// The sender, or the chat, has as many open reminders as it may have.
    TooMany {
        /// The maximum.
        limit: u32,
        /// The chat, if the limit is that of the chat.
        chat: Option<ChatId>,
    },
    /// The request repeats the one that created this reminder.
    Repeated(Box<Reminder>),
    /// The idempotency key was used for a different request.
    KeyReused,
}

/// The recorded request with the same key.
#[derive(Clone, PartialEq, Debug)]
pub enum PriorReminder {
    /// There is none.
    Nothing,
    /// The same request created this reminder.
    Reminder(Box<Reminder>),
    /// A different request.
    AnotherRequest,
}

/// The filters of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReminderFilter {
    /// Only those in this state.
    pub state: Option<ReminderState>,
    /// Only those of this chat.
    pub chat: Option<ChatId>,
}

/// An occurrence that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DueReminder {
    /// The reminder.
    pub id: ReminderId,
    /// Its chat.
    pub chat: ChatId,
    /// When it was due.
    pub at: Timestamp,
}

/// Reminders.
#[async_trait]
pub trait ReminderRepository: Send + Sync {
    /// Stores a reminder, unless its sender is no participant or is stopped, or there are too many. First, a keyed request
    /// is compared with the idempotency records ([`crate::idempotency`]); with the reminder, the result of the request is
    /// recorded. Of the reminders of the sender that have ended, the oldest ones are erased if there are more than
    /// [`MAX_ENDED_OF_SENDER`].
    async fn create_reminder(
        &self,
        new: NewReminder,
    ) -> Result<Result<Reminder, CreateReminderRefused>, StoreError>;

    /// The result of an earlier request under the request's key.
    async fn find_prior_reminder(&self, keyed: KeyedRequest) -> Result<PriorReminder, StoreError>;

    /// The reminders that `viewer` [sees](Reminder::is_visible_to), in the order of their times: those that are scheduled
    /// with the next one first, all other lists with the last one first. The position is [`Reminder::position`]. Pages are
    /// by cursor only, and bounded in bytes, see [`crate::page::fitting`].
    async fn list_reminders(
        &self,
        viewer: ParticipantId,
        filter: ReminderFilter,
        page: PageRequest,
    ) -> Result<Page<Reminder>, StoreError>;

    /// A reminder that `viewer` sees.
    async fn find_reminder(
        &self,
        viewer: ParticipantId,
        reminder: ReminderId,
    ) -> Result<Option<Reminder>, StoreError>;

    /// Cancels a reminder as [`CancelReminder::decide`] decides. If a user does so, it is recorded in the audit log.
    async fn cancel_reminder(
        &self,
        command: CancelReminder,
    ) -> Result<Result<Reminder, CancelReminderRefused>, StoreError>;

    /// The occurrences that are due at `now`, by time and id: those after a place in this order, at most `limit`.
    async fn due_reminders(
        &self,
        now: Timestamp,
        after: Option<DueReminder>,
        limit: u32,
    ) -> Result<Vec<DueReminder>, StoreError>;

    /// Sends the text of an occurrence that [is due](Reminder::is_due), as
    /// [`MessageRepository::append`](crate::message::MessageRepository::append) does, and settles the reminder
    /// ([`Reminder::settle`]) in the same transaction, whatever the result. A disabled sender, a sender whose owner is
    /// disabled, and an agent without a valid key send nothing. `on_commit` is run for every outcome.
    async fn send_reminder(
        &self,
        command: SendReminder,
        on_commit: OnCommit<ReminderOutcome>,
    ) -> Result<ReminderOutcome, StoreError>;

    /// Erases at most `limit` reminders that have ended at `before` or earlier; returns their number.
    async fn forget_reminders(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::id::{AgentId, UserId};

    #[test]
    fn a_new_reminder_needs_a_sender_at_work_and_a_free_place() {
        let (agent, chat) =
            (ParticipantId::Agent(AgentId::new(Uuid::from_u128(3))), ChatId::new(Uuid::from_u128(2)));
        let new = |sender| NewReminder {
            id: ReminderId::new(Uuid::from_u128(1)),
            chat,
            sender,
            sender_handle: "ann".to_owned(),
            content: "well?".to_owned(),
            mentions: Vec::new(),
            first_at: Timestamp::from_micros(1),
            every: None,
            cause: Cause::None,
            traceparent: None,
            follows_foreign: false,
            keyed: None,
            now: Timestamp::from_micros(0),
        };
        let (of_agent, of_human) = (new(agent), new(ParticipantId::User(UserId::NIL)));
        let too_many = |limit, chat| Err(CreateReminderRefused::TooMany { limit, chat });
        assert_eq!(of_agent.check(false, 99, 499), Ok(()));
        assert_eq!(of_agent.check(false, 100, 499), too_many(100, None));
        assert_eq!(of_agent.check(false, 99, 500), too_many(500, Some(chat)));
        assert_eq!(of_agent.check(true, 100, 500), Err(CreateReminderRefused::Stopped));
        assert_eq!(of_human.check(true, 99, 499), Ok(()), "a stop is for agents");
    }
}
