//! Failures of the use cases on texts that are sent later.

use domain::reminder::{
    CancelReminderError, ReadReminderError, ReminderEnd, ScheduleFault, ScheduleTextError,
};

use super::limit_reached;
use crate::error::{ApiError, ErrorCode};

impl From<ScheduleTextError> for ApiError {
    fn from(error: ScheduleTextError) -> Self {
        match error {
            ScheduleTextError::Send(error) => error.into(),
            ScheduleTextError::Fault(fault) => {
                Self::validation().with_detail(format!("/message/{}", property(fault)), fault.to_string())
            }
            ScheduleTextError::TooMany { limit, chat } => {
                let whose = if chat.is_some() { "The room has" } else { "You have" };
                let message =
                    format!("{whose} {limit} open reminders, the maximum. Cancel one that is not needed.");
                limit_reached(message, "reminders", [u64::from(limit); 2], chat)
            }
            ScheduleTextError::Store(error) => error.into(),
        }
    }
}

/// The property of the body that a fault is about.
const fn property(fault: ScheduleFault) -> &'static str {
    match fault {
        ScheduleFault::NoTime | ScheduleFault::Passed | ScheduleFault::TooFar => "deliver_at",
        ScheduleFault::NoOccurrence => "every",
        ScheduleFault::HasDeadline => "respond_by",
        ScheduleFault::HasAttachments => "attachment_ids",
        ScheduleFault::Answers => "in_reply_to",
        ScheduleFault::TooLong => "content",
    }
}

impl From<ReadReminderError> for ApiError {
    fn from(error: ReadReminderError) -> Self {
        match error {
            ReadReminderError::NotFound => not_found(),
            ReadReminderError::Store(error) => error.into(),
        }
    }
}

impl From<CancelReminderError> for ApiError {
    fn from(error: CancelReminderError) -> Self {
        match error {
            CancelReminderError::NotFound => not_found(),
            CancelReminderError::NotAllowed => Self::new(
                ErrorCode::Forbidden,
                "Only its sender, the owner of that agent, or an owner of the room may cancel a reminder.",
            ),
            CancelReminderError::Ended(ReminderEnd::Finished) => Self::new(
                ErrorCode::Conflict,
                "The reminder has sent its last text. There is nothing to cancel.",
            ),
            CancelReminderError::Ended(_) => {
                Self::new(ErrorCode::Conflict, "The reminder has ended. Show it to see why.")
            }
            CancelReminderError::Store(error) => error.into(),
        }
    }
}

fn not_found() -> ApiError {
    ApiError::new(
        ErrorCode::NotFound,
        "No reminder with this id is visible to you. List your reminders to find the id.",
    )
}
