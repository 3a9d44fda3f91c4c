//! Texts that are sent later.

use domain::id::{AccountId, ChatId, MessageId, ParticipantId, ReminderId};
use domain::message::Mention;
use domain::reminder::{Reminder, ReminderEnd, ReminderFailure};
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;

/// A text that is sent later, once or repeatedly.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReminderView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ReminderId>,
    #[schema(value_type = super::Id)]
    chat_id: Shown<ChatId>,
    /// Who has scheduled it, and sends its texts.
    #[schema(value_type = super::Id)]
    sender_id: Shown<ParticipantId>,
    /// `User` or `Agent`.
    sender_type: &'static str,
    /// Without `@`.
    sender_handle: &'a str,
    /// The text, with `@[[id]]` for mentions.
    content: &'a str,
    mentions: Vec<ReminderMentionView<'a>>,
    /// `scheduled` or `ended`.
    state: &'static str,
    /// When the text is sent next. Null if the reminder has ended.
    #[schema(value_type = Option<super::Instant>)]
    deliver_at: Option<Shown<Timestamp>>,
    /// When it was to be sent first.
    #[schema(value_type = super::Instant)]
    first_at: Shown<Timestamp>,
    /// The rule by which it is repeated. Null if it is sent once.
    every: Option<String>,
    /// The number of texts that were sent.
    sent_count: u32,
    #[schema(value_type = Option<super::Id>)]
    last_message_id: Option<Shown<MessageId>>,
    #[schema(value_type = Option<super::Instant>)]
    last_sent_at: Option<Shown<Timestamp>>,
    /// Why the last try failed. Null if it did not.
    last_failure: Option<ReminderReasonView>,
    /// Why it has ended. Null if it has not.
    end: Option<ReminderReasonView>,
    /// The user or agent who has cancelled it. Null if nobody has.
    #[schema(value_type = Option<super::Id>)]
    cancelled_by: Option<Shown<AccountId>>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
}

/// A mentioned participant.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct ReminderMentionView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ParticipantId>,
    handle: &'a str,
    name: &'a str,
    /// `mention` or `reference`.
    kind: &'static str,
    /// `User` or `Agent`.
    r#type: &'static str,
}

/// Why something happened, and when.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct ReminderReasonView {
    /// Of a failure: `limit_reached`, `stopped`, `recipient_left`, `held`, or `refused`. Of an end: `finished`, `cancelled`,
    /// `refused`, `sender_left`, `sender_disabled`, or `no_key`. More may be added.
    code: &'static str,
    message: &'static str,
    #[schema(value_type = super::Instant)]
    at: Shown<Timestamp>,
}

impl<'a> ReminderView<'a> {
    /// Shows `reminder`.
    pub fn new(reminder: &'a Reminder) -> Self {
        let failure = |(failure, at): (ReminderFailure, Timestamp)| ReminderReasonView {
            code: failure.as_str(),
            message: failed(failure),
            at: Shown(at),
        };
        let end = |(end, at): (ReminderEnd, Timestamp)| ReminderReasonView {
            code: end.as_str(),
            message: ended(end),
            at: Shown(at),
        };
        Self {
            id: Shown(reminder.id),
            chat_id: Shown(reminder.chat),
            sender_id: Shown(reminder.sender),
            sender_type: reminder.sender.kind().as_str(),
            sender_handle: &reminder.sender_handle,
            content: &reminder.content,
            mentions: reminder.mentions.iter().map(ReminderMentionView::new).collect(),
            state: reminder.state().as_str(),
            deliver_at: reminder.ended.is_none().then_some(Shown(reminder.due.at)),
            first_at: Shown(reminder.first_at),
            every: reminder.every.map(|every| every.to_string()),
            sent_count: reminder.sent,
            last_message_id: reminder.last_sent.map(|(message, _)| Shown(message)),
            last_sent_at: reminder.last_sent.map(|(_, at)| Shown(at)),
            last_failure: reminder.last_failure.map(failure),
            end: reminder.ended.map(end),
            cancelled_by: reminder.cancelled_by.map(Shown),
            inserted_at: Shown(reminder.created_at),
        }
    }
}

impl<'a> ReminderMentionView<'a> {
    fn new(mention: &'a Mention) -> Self {
        Self {
            id: Shown(mention.id),
            handle: &mention.handle,
            name: &mention.name,
            kind: mention.kind.as_str(),
            r#type: mention.id.kind().as_str(),
        }
    }
}

fn failed(failure: ReminderFailure) -> &'static str {
    match failure {
        ReminderFailure::LimitReached => "The plan of the room's organization allows no more messages.",
        ReminderFailure::Stopped => "The agent is stopped in the room.",
        ReminderFailure::RecipientLeft => "A mentioned participant is not in the room any more.",
        ReminderFailure::Held => {
            "The text was sent, but a limit or a budget holds it from the agents it mentions."
        }
        ReminderFailure::Refused => "The text was refused.",
    }
}

fn ended(end: ReminderEnd) -> &'static str {
    match end {
        ReminderEnd::Finished => "The last text was sent.",
        ReminderEnd::Cancelled => "It was cancelled.",
        ReminderEnd::Refused => "The last text was refused. See last_failure.",
        ReminderEnd::SenderLeft => "Its sender has left the room.",
        ReminderEnd::SenderDisabled => "Its sender, or the owner of that agent, is disabled.",
        ReminderEnd::NoKey => "The agent has no valid API key any more.",
    }
}
