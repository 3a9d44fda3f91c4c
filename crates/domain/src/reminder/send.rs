//! Sending what is due.

use std::time::Duration;

use super::model::{Reminder, ReminderEnd, ReminderFailure};
use super::port::DueReminder;
use super::service::ReminderService;
use crate::chat::Participant;
use crate::id::{OrganizationId, ReminderId};
use crate::message::{Appended, MessageKind, NewMessage, NewText, TraceParent};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The number of reminders that a step sends.
const STEP: u32 = 100;

/// An occurrence to be sent.
#[derive(Clone, PartialEq, Debug)]
pub struct SendReminder {
    /// The occurrence.
    pub due: DueReminder,
    /// The text to be made.
    pub text: NewText,
    /// The current time.
    pub now: Timestamp,
}

/// The result of sending an occurrence.
#[derive(Clone, PartialEq, Debug)]
pub enum ReminderOutcome {
    /// The text was sent.
    Sent(Box<Appended>),
    /// It was refused; the reminder goes on or has ended.
    Refused(ReminderFailure),
    /// The reminder has ended, since its sender may send nothing any more.
    Ended(ReminderEnd),
    /// It was sent before, or cancelled.
    Gone,
}

impl ReminderOutcome {
    /// The outcome of a try that stored no text, by the reminder after it.
    pub fn of_unsent(reminder: &Reminder) -> Self {
        match (reminder.ended, reminder.last_failure) {
            (None | Some((ReminderEnd::Refused, _)), Some((failure, _))) => Self::Refused(failure),
            (Some((end, _)), _) => Self::Ended(end),
            (None, None) => Self::Gone,
        }
    }
}

impl SendReminder {
    /// The text of a reminder. `sender` is its sender under the present name, of this organization.
    pub fn message(
        &self,
        reminder: &Reminder,
        sender: &Participant,
        organization: OrganizationId,
    ) -> NewMessage {
        let NewText { id, begins_trace, max_hops, exceeded } = &self.text;
        let (sender, content) = (sender.named(), reminder.content.clone());
        NewMessage {
            mentions: reminder.mentions.clone(),
            cause: reminder.cause,
            traceparent: TraceParent::of_new(*begins_trace, reminder.traceparent, *id),
            follows_foreign: reminder.follows_foreign,
            organization: Some(organization),
            max_hops: *max_hops,
            exceeded: exceeded.clone(),
            is_reminder: true,
            ..NewMessage::new(*id, reminder.chat, sender, MessageKind::Text, content, self.now)
        }
    }
}

/// The result of a step.
#[derive(Debug, Default)]
pub struct SentReminders {
    /// The number of texts that were sent.
    pub sent: u64,
    /// The number of texts that were refused, and of reminders that ended for their senders.
    pub refused: u64,
    /// How late the texts were.
    pub late: Vec<Duration>,
    /// The reminders that could not be sent, with the reasons.
    pub failed: Vec<(ReminderId, StoreError)>,
    /// Set if others are due.
    pub has_more: bool,
}

impl ReminderService {
    /// Sends the reminders that are due after a place, at most 100, the one that has waited longest first, and moves the
    /// place. A reminder that cannot be sent is passed over until the walk begins again. Several processes may do so at
    /// the same time.
    pub async fn send_due(&self, after: &mut Option<DueReminder>) -> Result<SentReminders, StoreError> {
        let due = self.reminders.due_reminders(self.clock.now(), after.take(), STEP).await?;
        let mut done = SentReminders { has_more: due.len() >= STEP as usize, ..SentReminders::default() };
        if done.has_more {
            *after = due.last().copied();
        }
        for due in due {
            let now = self.clock.now();
            let (text, events) = (self.messages.begin_text(now), self.events.clone());
            let on_commit = OnCommit::new(move |outcome: &ReminderOutcome| {
                if let ReminderOutcome::Sent(appended) = outcome {
                    appended.announce(&*events);
                }
            });
            match self.reminders.send_reminder(SendReminder { due, text, now }, on_commit).await {
                Ok(ReminderOutcome::Sent(appended)) => {
                    self.messages.note_sent(&appended.message).await;
                    done.sent += 1;
                    done.late.push(now.since(due.at));
                }
                Ok(ReminderOutcome::Refused(_) | ReminderOutcome::Ended(_)) => done.refused += 1,
                Ok(ReminderOutcome::Gone) => {}
                Err(error) => {
                    let is_down = matches!(error, StoreError::Unavailable(_));
                    done.failed.push((due.id, error));
                    if is_down {
                        // The others would wait as long; the next step continues after this one.
                        (*after, done.has_more) = (Some(due), false);
                        return Ok(done);
                    }
                }
            }
        }
        Ok(done)
    }
}
