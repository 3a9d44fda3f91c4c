//! Reading reminders, and the area's ports in one place.

use std::sync::Arc;
use std::time::Duration;

use super::model::Reminder;
use super::port::{ReminderFilter, ReminderRepository};
use crate::caller::Caller;
use crate::id::ReminderId;
use crate::message::MessageService;
use crate::page::{Page, PageRequest};
use crate::ports::{Clock, EventPublisher, IdGenerator};
use crate::store::StoreError;
use crate::time::Timestamp;

/// How long a reminder that has ended can be read.
pub const ENDED_REMINDERS_ARE_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The number of reminders that are erased at a time.
const FORGOTTEN_AT_ONCE: u32 = 200;

/// The reason why a reminder was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadReminderError {
    /// The caller sees no such reminder.
    #[error("there is no such reminder for the caller")]
    NotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Use cases on texts that are sent later.
pub struct ReminderService {
    pub(super) reminders: Arc<dyn ReminderRepository>,
    pub(super) messages: Arc<MessageService>,
    pub(super) events: Arc<dyn EventPublisher>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
}

impl ReminderService {
    /// Wires the area to its ports.
    pub fn new(
        reminders: Arc<dyn ReminderRepository>,
        messages: Arc<MessageService>,
        events: Arc<dyn EventPublisher>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Self {
        Self { reminders, messages, events, clock, ids }
    }

    /// The reminders that the caller sees. Pages are by cursor only.
    pub async fn list(
        &self,
        caller: impl Into<Caller>,
        filter: ReminderFilter,
        page: PageRequest,
    ) -> Result<Page<Reminder>, StoreError> {
        self.reminders.list_reminders(caller.into().participant(), filter, page).await
    }

    /// A reminder that the caller sees.
    pub async fn find(
        &self,
        caller: impl Into<Caller>,
        reminder: ReminderId,
    ) -> Result<Reminder, ReadReminderError> {
        let found = self.reminders.find_reminder(caller.into().participant(), reminder).await?;
        found.ok_or(ReadReminderError::NotFound)
    }

    /// Erases the reminders that can no longer be read at `now`, in batches, so that no other write waits for long. Returns
    /// their number.
    pub async fn forget_old(&self, now: Timestamp) -> Result<u64, StoreError> {
        let before = now.minus(ENDED_REMINDERS_ARE_KEPT);
        let mut forgotten = 0;
        loop {
            let count = self.reminders.forget_reminders(before, FORGOTTEN_AT_ONCE).await?;
            forgotten += count;
            if count < u64::from(FORGOTTEN_AT_ONCE) {
                return Ok(forgotten);
            }
        }
    }
}
