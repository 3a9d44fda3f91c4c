//! Reminders: texts that are sent later, once or repeatedly.
//!
//! A user or agent schedules a text with a time, and with a [`Recurrence`] if it is to be repeated. An agent may address
//! itself there, and only there. A worker of every server sends what is [due](DueReminder).
//!
//! A reminder follows from what its sender worked on when it was scheduled: each of its texts has that cause, and counts
//! for budgets and limits when it is sent. A recurring reminder that is late is sent once, and goes on with the next
//! occurrence that is still to come.
//!
//! Invariant: a text and the progress of its reminder are one transaction ([`ReminderRepository::send_reminder`]), which
//! compares the time at which the reminder was due. So each occurrence is sent once, by whichever server, or not at all.

mod cancel;
mod model;
mod port;
mod recurrence;
mod schedule;
mod send;
mod service;

pub use cancel::{CancelReminder, CancelReminderError, CancelReminderRefused, ReminderStanding};
pub use model::{
    Attempted, MAX_REMINDER_BYTES, Occurrence, Reminder, ReminderEnd, ReminderFailure, ReminderState,
};
pub use port::{
    CreateReminderRefused, DueReminder, MAX_ENDED_OF_SENDER, MAX_OPEN_OF_CHAT, MAX_OPEN_OF_SENDER,
    NewReminder, PriorReminder, ReminderFilter, ReminderRepository,
};
pub use recurrence::{Frequency, Recurrence, RecurrenceFault, Weekday};
pub use schedule::{ScheduleFault, ScheduleText, ScheduleTextError};
pub use send::{ReminderOutcome, SendReminder, SentReminders};
pub use service::{ENDED_REMINDERS_ARE_KEPT, ReadReminderError, ReminderService};
