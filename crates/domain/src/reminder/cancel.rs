//! Cancelling a reminder, and who sees it.

use super::model::{Reminder, ReminderEnd};
use super::service::ReminderService;
use crate::caller::Caller;
use crate::chat::Role;
use crate::id::{ParticipantId, ReminderId};
use crate::store::StoreError;
use crate::time::Timestamp;

/// A reminder to be cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CancelReminder {
    /// The reminder.
    pub reminder: ReminderId,
    /// The caller.
    pub by: Caller,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why the store did not cancel a reminder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CancelReminderRefused {
    /// The caller sees no such reminder.
    NotFound,
    /// The caller may not cancel it.
    NotAllowed,
    /// It has ended.
    Ended(ReminderEnd),
}

/// The reason why a reminder was not cancelled.
#[derive(Debug, thiserror::Error)]
pub enum CancelReminderError {
    /// The caller sees no such reminder.
    #[error("there is no such reminder for the caller")]
    NotFound,
    /// The caller may not cancel it.
    #[error("only the sender, an owner of the chat, or the owner of the agent may cancel the reminder")]
    NotAllowed,
    /// It has ended.
    #[error("the reminder has ended")]
    Ended(ReminderEnd),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a user or agent has to do with a reminder that is not its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReminderStanding {
    /// Set if its sender is an agent of this user.
    pub owns_sender: bool,
    /// The role in its chat.
    pub role: Option<Role>,
}

impl Reminder {
    /// Returns whether `viewer` sees it: its sender, the owner of that agent, and every human in the chat.
    pub fn is_visible_to(&self, viewer: ParticipantId, standing: ReminderStanding) -> bool {
        let is_human = viewer.user().is_some();
        viewer == self.sender || is_human && (standing.owns_sender || standing.role.is_some())
    }

    /// Returns whether `viewer` may cancel it: its sender, the owner of that agent, and the humans who own the chat.
    fn may_be_cancelled_by(&self, viewer: ParticipantId, standing: ReminderStanding) -> bool {
        viewer == self.sender || standing.owns_sender || standing.role == Some(Role::Owner)
    }
}

impl CancelReminder {
    /// The reminder after the command; `None` if it was cancelled before. Pure; the stores call this on the locked row.
    ///
    /// # Errors
    /// If the caller may not cancel it, or it has ended in another way.
    pub fn decide(
        &self,
        reminder: &Reminder,
        standing: ReminderStanding,
    ) -> Result<Option<Reminder>, CancelReminderRefused> {
        let by = self.by.participant();
        if !reminder.is_visible_to(by, standing) {
            return Err(CancelReminderRefused::NotFound);
        }
        if !reminder.may_be_cancelled_by(by, standing) {
            return Err(CancelReminderRefused::NotAllowed);
        }
        match reminder.ended {
            None => {
                let mut cancelled = Reminder { cancelled_by: Some(by.into()), ..reminder.clone() };
                cancelled.end(ReminderEnd::Cancelled, self.now);
                Ok(Some(cancelled))
            }
            Some((ReminderEnd::Cancelled, _)) => Ok(None),
            Some((end, _)) => Err(CancelReminderRefused::Ended(end)),
        }
    }
}

impl ReminderService {
    /// Ends a reminder: it sends nothing any more. Cancelling it again changes nothing.
    pub async fn cancel(
        &self,
        caller: impl Into<Caller>,
        reminder: ReminderId,
    ) -> Result<Reminder, CancelReminderError> {
        let command = CancelReminder { reminder, by: caller.into(), now: self.clock.now() };
        self.reminders.cancel_reminder(command).await?.map_err(|refused| match refused {
            CancelReminderRefused::NotFound => CancelReminderError::NotFound,
            CancelReminderRefused::NotAllowed => CancelReminderError::NotAllowed,
            CancelReminderRefused::Ended(end) => CancelReminderError::Ended(end),
        })
    }
}
