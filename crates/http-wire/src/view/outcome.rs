//! Responses to a message that was sent and to a step that was taken, and the receipts of a message. A
//! response carries `success` and `chat_room_id`, without which older clients fail.

use domain::delivery::{DeliveryReceipt, StepResult};
use domain::id::{AgentId, ChatId, MessageId, ParticipantId, ParticipantKind};
use domain::message::{Message, Recipient, RecipientState, SentMessage};
use domain::time::Timestamp;
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
    /// When the mentioned agents must have processed the message. Absent without a deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<super::Instant>)]
    respond_by: Option<Shown<Timestamp>>,
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
    /// Set if the recipient has an open socket, or if the service runs the agent. Absent from the answer to a
    /// repeated request, like all members below.
    #[serde(skip_serializing_if = "Option::is_none")]
    connected: Option<bool>,
    /// For an agent: `new`, or `held` if a limit keeps the message from it. The receipts show how it changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    /// For an agent: set if it is stopped in the room. The message waits for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<bool>,
    /// For an agent: set if the agent or the organization of the room is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<bool>,
}

impl<'a> RecipientView<'a> {
    fn new(recipient: &'a Recipient, is_connected: impl Fn(RecipientState) -> bool) -> Self {
        let (status, stopped, paused) = match recipient.state {
            Some(RecipientState::Agent { status, is_stopped, is_paused, .. }) => {
                (Some(status.as_str()), Some(is_stopped), Some(is_paused))
            }
            Some(RecipientState::User) | None => (None, None, None),
        };
        Self {
            id: Shown(recipient.id),
            handle: &recipient.handle,
            name: &recipient.name,
            kind: recipient.id.kind().as_str(),
            connected: recipient.state.map(is_connected),
            status,
            stopped,
            paused,
        }
    }
}

impl<'a> SentMessageView<'a> {
    /// Shows `sent`; `is_connected` says whether a recipient in a state is.
    pub fn new(sent: &'a SentMessage, is_connected: impl Fn(&Recipient, RecipientState) -> bool) -> Self {
        let recipient =
            |recipient: &'a Recipient| RecipientView::new(recipient, |state| is_connected(recipient, state));
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
            respond_by: sent.respond_by.map(Shown),
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
    /// When the claim of the attempt ends unless it is renewed; absent if it claims nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<super::Instant>)]
    claimed_until: Option<Shown<Timestamp>>,
    success: bool,
}

impl StepView {
    /// Shows `step`. `success` is true whenever the step was stored, even if it reports a failed attempt.
    pub fn new(step: &StepResult) -> Self {
        Self {
            id: Shown(step.message),
            chat_room_id: Shown(step.chat_id),
            status: step.status.as_str(),
            attempt_number: step.attempt_number.get(),
            claimed_until: step.claimed_until.map(Shown),
            success: true,
        }
    }
}

/// What became of a message at an agent that it is addressed to.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReceiptView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<AgentId>,
    handle: &'a str,
    name: &'a str,
    /// `Agent`.
    r#type: &'static str,
    /// `new`, `delivered`, `processing`, `failed`, `processed`, `dead`, or `held`.
    status: &'static str,
    /// When it got this status.
    #[schema(value_type = super::Instant)]
    changed_at: Shown<Timestamp>,
    /// Set if the agent has an open socket, or if the service runs it.
    connected: bool,
    /// Set if the agent is stopped in the room.
    stopped: bool,
    /// Set if the agent or the organization of the room is paused.
    paused: bool,
    /// Set if the agent is still in the room. An agent that is not does not get the message.
    in_room: bool,
    /// How many messages the agent has to process in this room before this one, at most 1,000; 0 if it is
    /// the next one. Null if it was processed or is dead or held, or if the agent has left the room.
    queue_position: Option<u32>,
    /// The new message, if this one was sent again to the agent or to another one.
    #[schema(value_type = Option<super::Id>)]
    replaced_by: Option<Shown<MessageId>>,
    /// When the agent must have processed the message. Null without a deadline.
    #[schema(value_type = Option<super::Instant>)]
    respond_by: Option<Shown<Timestamp>>,
}

impl<'a> ReceiptView<'a> {
    /// Shows `receipt`; `connected` says whether its agent is.
    pub fn new(receipt: &'a DeliveryReceipt, connected: bool) -> Self {
        let DeliveryReceipt { agent, status, changed_at, before, replaced_by, respond_by, is_cancelled: _ } =
            receipt;
        Self {
            id: Shown(agent.id),
            handle: &agent.handle,
            name: &agent.name,
            r#type: ParticipantKind::Agent.as_str(),
            status: status.as_str(),
            changed_at: Shown(*changed_at),
            connected,
            stopped: agent.is_stopped,
            paused: agent.is_paused,
            in_room: agent.in_chat,
            queue_position: *before,
            replaced_by: replaced_by.map(Shown),
            respond_by: respond_by.map(Shown),
        }
    }
}
