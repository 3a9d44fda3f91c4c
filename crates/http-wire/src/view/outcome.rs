//! Responses to a message that was sent and to a step that was taken. Each carries `success` and
//! `chat_room_id`, without which older clients fail.

use domain::delivery::StepResult;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::{Message, Recipient, SentMessage};
use serde::Serialize;

use super::Shown;

/// A stored message.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SentMessageView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<MessageId>,
    #[schema(value_type = super::Id)]
    chat_room_id: Shown<ChatId>,
    success: bool,
    recipients: Vec<RecipientView<'a>>,
    /// What the sender may not expect. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningView<'a>>,
}

/// A warning about an accepted message.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct WarningView<'a> {
    /// `not_mentioned`: the text contains `@` with handles of agents that are not among its mentions.
    code: &'static str,
    message: &'static str,
    /// The handles.
    handles: &'a [String],
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct RecipientView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ParticipantId>,
    handle: &'a str,
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
}

impl<'a> SentMessageView<'a> {
    /// Shows `sent`.
    pub fn new(sent: &'a SentMessage) -> Self {
        let recipient = |recipient: &'a Recipient| RecipientView {
            id: Shown(recipient.id),
            handle: &recipient.handle,
            name: &recipient.name,
            kind: recipient.id.kind().as_str(),
        };
        let not_mentioned = WarningView {
            code: "not_mentioned",
            message: "These agents do not receive the message, because a handle in its text mentions no one. Add them to mentions.",
            handles: &sent.unmentioned,
        };
        Self {
            id: Shown(sent.id),
            chat_room_id: Shown(sent.chat_id),
            success: true,
            recipients: sent.recipients.iter().map(recipient).collect(),
            warnings: (!sent.unmentioned.is_empty()).then_some(not_mentioned).into_iter().collect(),
        }
    }
}

/// A stored event.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct PostedEventView {
    #[schema(value_type = super::Id)]
    id: Shown<MessageId>,
    #[schema(value_type = super::Id)]
    chat_room_id: Shown<ChatId>,
    message_type: &'static str,
    success: bool,
}

impl PostedEventView {
    /// Shows the stored `event` to who posted it.
    pub fn new(event: &Message) -> Self {
        Self {
            id: Shown(event.id),
            chat_room_id: Shown(event.chat_id),
            message_type: event.kind.as_str(),
            success: true,
        }
    }
}

/// Confirmation that an attempt was opened or closed.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct StepView {
    #[schema(value_type = super::Id)]
    id: Shown<MessageId>,
    #[schema(value_type = super::Id)]
    chat_room_id: Shown<ChatId>,
    status: &'static str,
    attempt_number: u32,
    success: bool,
}

impl StepView {
    /// Shows `step`. `success` says that the step was taken, also when it was to report a failure.
    pub fn new(step: &StepResult) -> Self {
        Self {
            id: Shown(step.message),
            chat_room_id: Shown(step.chat_id),
            status: step.status.as_str(),
            attempt_number: step.attempt_number.get(),
            success: true,
        }
    }
}
