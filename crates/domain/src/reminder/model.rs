//! A reminder, and how it moves from one occurrence to the next. Pure; the stores call this on the locked row.

use std::time::Duration;

use super::recurrence::Recurrence;
use crate::id::{AccountId, ChatId, MessageId, ParticipantId, ReminderId};
use crate::message::{AppendRefused, Appended, Cause, Mention, TraceParent};
use crate::page::Position;
use crate::time::Timestamp;
use crate::words::words;

/// The largest size of a scheduled text, in bytes.
pub const MAX_REMINDER_BYTES: usize = 64 * 1024;

/// The pause before a text that is sent once is tried again; each further one is twice as long, and at most an hour.
const RETRY_PAUSE: Duration = Duration::from_secs(60);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);

/// How often a text that is sent once is tried: for about a day.
const MAX_TRIES: u32 = 30;

words! {
    /// The state of a reminder.
    ReminderState {
        /// It will send a text.
        Scheduled = "scheduled",
        /// It sends nothing any more.
        Ended = "ended",
    }

    /// Why a reminder has ended.
    ReminderEnd {
        /// It has sent its last text.
        Finished = "finished",
        /// Somebody cancelled it.
        Cancelled = "cancelled",
        /// Its only text was refused; the failure says why.
        Refused = "refused",
        /// Its sender has left the chat.
        SenderLeft = "sender_left",
        /// Its sender, or the owner of that agent, is disabled.
        SenderDisabled = "sender_disabled",
        /// Its sender is an agent that no longer has a valid API key.
        NoKey = "no_key",
    }

    /// Why a text was not sent, or not delivered.
    ReminderFailure {
        /// The plan of the chat's organization allows no more messages.
        LimitReached = "limit_reached",
        /// The sender is an agent that is stopped.
        Stopped = "stopped",
        /// A mentioned participant has left the chat.
        RecipientLeft = "recipient_left",
        /// The text was sent, but all of its deliveries are held: by a budget, or by another limit.
        Held = "held",
        /// Another rule refused it.
        Refused = "refused",
    }
}

/// A time at which a text is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occurrence {
    /// The time.
    pub at: Timestamp,
    /// Its number, from 1. Occurrences that pass while no server runs count. For a text that is sent once, that of the try.
    pub number: u32,
}

/// A text that is sent later.
#[derive(Clone, PartialEq, Debug)]
pub struct Reminder {
    /// Its id.
    pub id: ReminderId,
    /// The chat.
    pub chat: ChatId,
    /// The sender of its texts, who has scheduled it.
    pub sender: ParticipantId,
    /// The sender's handle, without `@`; it never changes.
    pub sender_handle: String,
    /// The text as it is stored.
    pub content: String,
    /// The mentioned participants, who may include the sender.
    pub mentions: Vec<Mention>,
    /// The time of the first occurrence.
    pub first_at: Timestamp,
    /// How often it is repeated; `None` if the text is sent once.
    pub every: Option<Recurrence>,
    /// The next occurrence, or the last one if it has ended.
    pub due: Occurrence,
    /// The number of texts that were sent.
    pub sent: u32,
    /// The last text, and the time at which it was sent.
    pub last_sent: Option<(MessageId, Timestamp)>,
    /// Why the last try failed, if it did.
    pub last_failure: Option<(ReminderFailure, Timestamp)>,
    /// What its texts follow from.
    pub cause: Cause,
    /// The place in a trace of what they follow from.
    pub traceparent: Option<TraceParent>,
    /// Set if what they follow from is foreign to the chat.
    pub follows_foreign: bool,
    /// The time at which it was scheduled.
    pub created_at: Timestamp,
    /// Why it has ended, and when.
    pub ended: Option<(ReminderEnd, Timestamp)>,
    /// The user or agent who has cancelled it.
    pub cancelled_by: Option<AccountId>,
}

/// The result of a try to send a text.
#[derive(Clone, PartialEq, Debug)]
pub enum Attempted {
    /// It was sent.
    Sent {
        /// The text.
        message: MessageId,
        /// Set if all of its deliveries are held.
        is_held: bool,
    },
    /// It was refused.
    Refused(AppendRefused),
    /// The sender may send nothing any more.
    Barred(ReminderEnd),
}

impl Attempted {
    /// The result of a try that stored a text.
    pub fn of(appended: &Appended) -> Self {
        let message = &appended.message;
        let mut deliveries = message.deliveries.iter();
        let is_held = !message.deliveries.is_empty() && deliveries.all(|one| one.held_by().is_some());
        Self::Sent { message: message.id, is_held }
    }
}

impl Reminder {
    /// Its state.
    pub const fn state(&self) -> ReminderState {
        if self.ended.is_some() { ReminderState::Ended } else { ReminderState::Scheduled }
    }

    /// Returns whether the occurrence that was due at `at` is still to be sent at `now`.
    pub fn is_due(&self, at: Timestamp, now: Timestamp) -> bool {
        self.ended.is_none() && self.due.at == at && at <= now
    }

    /// Its place in a list.
    pub fn position(&self) -> Position {
        Position::at(self.due.at.micros(), self.id)
    }

    /// Ends it, if it has not ended.
    pub fn end(&mut self, end: ReminderEnd, now: Timestamp) {
        self.ended.get_or_insert((end, now));
    }

    /// Records the result of a try at `now`, and moves to the next occurrence, or ends.
    pub fn settle(&mut self, attempted: &Attempted, now: Timestamp) {
        let failure = match attempted {
            Attempted::Barred(end) => return self.end(*end, now),
            Attempted::Refused(AppendRefused::NotParticipant) => {
                return self.end(ReminderEnd::SenderLeft, now);
            }
            Attempted::Refused(refused) => Some(ReminderFailure::of(refused)),
            Attempted::Sent { message, is_held } => {
                self.sent = self.sent.saturating_add(1);
                self.last_sent = Some((*message, now));
                is_held.then_some(ReminderFailure::Held)
            }
        };
        self.last_failure = failure.map(|failure| (failure, now));
        let next = self.every.and_then(|every| every.following(self.first_at, self.due, now));
        match (next, attempted) {
            (Some(next), _) => self.due = next,
            (None, Attempted::Sent { .. }) => self.end(ReminderEnd::Finished, now),
            (None, _) if failure.is_some_and(ReminderFailure::may_pass) && self.may_try_again() => {
                self.due = Occurrence { at: now.plus(self.pause()), number: self.due.number + 1 };
            }
            (None, _) => self.end(ReminderEnd::Refused, now),
        }
    }

    /// Only a text that is sent once is tried again: others have a next occurrence, or had one.
    const fn may_try_again(&self) -> bool {
        self.every.is_none() && self.due.number < MAX_TRIES
    }

    /// The pause before the next try.
    fn pause(&self) -> Duration {
        let doubled = self.due.number.saturating_sub(1).min(6);
        (RETRY_PAUSE * (1 << doubled)).min(LONGEST_PAUSE)
    }
}

impl ReminderFailure {
    const fn of(refused: &AppendRefused) -> Self {
        match refused {
            AppendRefused::Limit(_) => Self::LimitReached,
            AppendRefused::Stopped => Self::Stopped,
            AppendRefused::MentionLeft { .. } => Self::RecipientLeft,
            AppendRefused::NotParticipant
            | AppendRefused::UnknownAttachment(_)
            | AppendRefused::Repeated(_)
            | AppendRefused::RepeatedDeleted(_)
            | AppendRefused::KeyReused
            | AppendRefused::Answered => Self::Refused,
        }
    }

    /// Returns whether the same text may be accepted soon.
    const fn may_pass(self) -> bool {
        matches!(self, Self::LimitReached | Self::Stopped)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::id::AgentId;

    const HOUR: i64 = 3600;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn reminder(every: Option<&str>) -> Reminder {
        Reminder {
            id: ReminderId::new(Uuid::from_u128(1)),
            chat: ChatId::new(Uuid::from_u128(2)),
            sender: ParticipantId::Agent(AgentId::new(Uuid::from_u128(3))),
            sender_handle: "ann/bot".to_owned(),
            content: "well?".to_owned(),
            mentions: Vec::new(),
            first_at: at(HOUR),
            every: every.map(|rule| Recurrence::parse(rule).unwrap()),
            due: Occurrence { at: at(HOUR), number: 1 },
            sent: 0,
            last_sent: None,
            last_failure: None,
            cause: Cause::None,
            traceparent: None,
            follows_foreign: false,
            created_at: at(0),
            ended: None,
            cancelled_by: None,
        }
    }

    fn sent(number: u128) -> Attempted {
        Attempted::Sent { message: MessageId::new(Uuid::from_u128(number)), is_held: false }
    }

    #[test]
    fn an_occurrence_is_due_once() {
        let mut hourly = reminder(Some("FREQ=HOURLY"));
        assert!(!hourly.is_due(at(HOUR), at(HOUR - 1)), "not yet");
        assert!(hourly.is_due(at(HOUR), at(HOUR)));
        hourly.settle(&sent(7), at(HOUR));
        assert!(!hourly.is_due(at(HOUR), at(HOUR)), "another server was first");
        assert_eq!((hourly.due, hourly.sent), (Occurrence { at: at(2 * HOUR), number: 2 }, 1));
        hourly.settle(&sent(8), at(5 * HOUR + 1));
        assert_eq!(
            (hourly.due, hourly.sent),
            (Occurrence { at: at(6 * HOUR), number: 6 }, 2),
            "late, and once"
        );
        hourly.end(ReminderEnd::Cancelled, at(6 * HOUR));
        assert!(!hourly.is_due(at(6 * HOUR), at(6 * HOUR)));
    }

    #[test]
    fn a_reminder_ends_with_its_last_text() {
        let mut once = reminder(None);
        once.settle(&sent(7), at(9 * HOUR));
        assert_eq!(once.ended, Some((ReminderEnd::Finished, at(9 * HOUR))), "late, and nevertheless");
        let mut twice = reminder(Some("FREQ=HOURLY;COUNT=2"));
        twice.settle(&sent(7), at(HOUR));
        assert_eq!((twice.state(), twice.due.number), (ReminderState::Scheduled, 2));
        twice.settle(&Attempted::Sent { message: MessageId::NIL, is_held: true }, at(2 * HOUR));
        assert_eq!(twice.ended, Some((ReminderEnd::Finished, at(2 * HOUR))));
        assert_eq!(twice.last_failure, Some((ReminderFailure::Held, at(2 * HOUR))));
    }

    #[test]
    fn what_is_refused_is_tried_again_if_that_can_help() {
        let stopped = Attempted::Refused(AppendRefused::Stopped);
        let mut once = reminder(None);
        let (late, mut pauses) = (at(100 * HOUR), Vec::new());
        once.settle(&stopped, late);
        while once.ended.is_none() {
            let due = once.due.at;
            pauses.push(due.since(late).as_secs() / 60);
            once.settle(&stopped, due);
        }
        assert_eq!(pauses[..8], [1, 3, 7, 15, 31, 63, 123, 183]);
        assert_eq!(
            (pauses.len(), pauses[28]),
            (29, 24 * 60 + 3),
            "for a day after it is found to be stopped"
        );
        assert_eq!(once.ended, Some((ReminderEnd::Refused, once.due.at)));
        assert_eq!(once.last_failure, Some((ReminderFailure::Stopped, once.due.at)));
        let left = Attempted::Refused(AppendRefused::MentionLeft { index: 0 });
        let mut once = reminder(None);
        once.settle(&left, at(HOUR));
        assert_eq!(once.ended, Some((ReminderEnd::Refused, at(HOUR))));
        let mut hourly = reminder(Some("FREQ=HOURLY;COUNT=2"));
        hourly.settle(&left, at(HOUR));
        assert_eq!(
            (hourly.due.at, hourly.last_failure),
            (at(2 * HOUR), Some((ReminderFailure::RecipientLeft, at(HOUR))))
        );
        hourly.settle(&stopped, at(2 * HOUR));
        assert_eq!(hourly.ended, Some((ReminderEnd::Refused, at(2 * HOUR))));
    }

    #[test]
    fn a_sender_who_may_send_no_more_ends_it() {
        for (attempted, end) in [
            (Attempted::Refused(AppendRefused::NotParticipant), ReminderEnd::SenderLeft),
            (Attempted::Barred(ReminderEnd::NoKey), ReminderEnd::NoKey),
            (Attempted::Barred(ReminderEnd::SenderDisabled), ReminderEnd::SenderDisabled),
        ] {
            let mut hourly = reminder(Some("FREQ=HOURLY"));
            hourly.settle(&attempted, at(HOUR));
            assert_eq!((hourly.ended, hourly.sent), (Some((end, at(HOUR))), 0));
            hourly.end(ReminderEnd::Cancelled, at(2 * HOUR));
            assert_eq!(hourly.ended, Some((end, at(HOUR))), "it ends once");
        }
    }
}
