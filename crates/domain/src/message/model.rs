//! A message as stored.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::cause::Cause;
use super::mention::Mention;
use super::trace::TraceParent;
use crate::chat::Standing;
use crate::delivery::{Delivery, DeliveryStatus};
use crate::foreign::Origin;
use crate::id::{AgentId, ChatId, MessageId, ParticipantId, Sequence};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// The kind of a message. All but `Text` are events.
    MessageKind {
        /// A text to participants.
        Text = "text",
        /// A tool call.
        ToolCall = "tool_call",
        /// The result of a tool call.
        ToolResult = "tool_result",
        /// A thought of the agent.
        Thought = "thought",
        /// An error.
        Error = "error",
        /// The state of a task.
        Task = "task",
        /// A request for a human's attention.
        Attention = "attention",
    }
}

impl MessageKind {
    /// Returns whether it is an event.
    pub const fn is_event(self) -> bool {
        !matches!(self, Self::Text)
    }
}

/// A message or an event.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Message {
    /// Identifier.
    pub id: MessageId,
    /// The chat.
    #[serde(rename = "chat")]
    pub chat_id: ChatId,
    /// Its sequence in the chat: 1 for the first, without gaps except for deleted messages.
    pub sequence: Sequence,
    /// Text, or the kind of event.
    pub kind: MessageKind,
    /// The text, with `@[[id]]` for mentioned participants.
    pub content: String,
    /// The sender.
    pub sender: ParticipantId,
    /// The sender's name at that time.
    pub sender_name: String,
    /// The sender's handle, without `@`; `None` if it is unknown, as on a message from a server of
    /// an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_handle: Option<String>,
    /// The mentioned participants, in the order of the request; empty for events.
    pub mentions: Vec<Mention>,
    /// Free-form data of an event; `None` for texts.
    pub metadata: Option<Map<String, Value>>,
    /// What it follows from.
    #[serde(default, skip_serializing_if = "Cause::is_none")]
    pub cause: Cause,
    /// Its place in a trace, if it is part of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<TraceParent>,
    /// Whether it is foreign to the chat.
    #[serde(default, skip_serializing_if = "Origin::is_own")]
    pub origin: Origin,
    /// The time at which it was accepted.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// The deadline by which the agents must respond to a text, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub respond_by: Option<Timestamp>,
    /// Its delivery records by agent id, one for each agent that it was addressed to or that worked
    /// on it, with the newest attempts only; see [`crate::delivery::SHOWN_ATTEMPTS`].
    pub deliveries: Vec<Delivery>,
}

impl Message {
    /// The agents to which the message is addressed.
    pub fn addressed_agents(&self) -> Vec<AgentId> {
        self.mentions.iter().filter_map(Mention::addressed_agent).collect()
    }

    /// The bytes that it counts towards a plan: those of its text, and of its metadata as JSON.
    pub fn bytes(&self) -> i64 {
        let json = |metadata| serde_json::to_vec(metadata).map_or(0, |json| json.len());
        let bytes = self.content.len() + self.metadata.as_ref().map_or(0, json);
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }

    /// Returns whether an agent in the chat may read it: it sent the message, or is mentioned.
    pub fn is_readable_by(&self, agent: AgentId) -> bool {
        self.sender == ParticipantId::Agent(agent)
            || self.mentions.iter().any(|mention| mention.addressed_agent() == Some(agent))
    }

    /// Returns whether somebody with this standing in its chat may read it.
    pub fn is_visible_to(&self, viewer: ParticipantId, standing: &Standing) -> bool {
        standing.may_read() && viewer.agent().is_none_or(|agent| self.is_readable_by(agent))
    }
}

/// A recipient of a sent message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recipient {
    /// The user or agent.
    pub id: ParticipantId,
    /// Handle, without `@`.
    pub handle: String,
    /// Shown name.
    pub name: String,
    /// Its state; `None` in the answer to a repeated request, since it may have changed.
    pub state: Option<RecipientState>,
}

/// The state of a recipient when the message was stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecipientState {
    /// Users have none.
    User,
    /// That of an agent, with the same meaning as in [receipts](crate::delivery::DeliveryReceipt).
    Agent {
        /// The status of the delivery.
        status: DeliveryStatus,
        /// Set for an agent that is known to be run by the service.
        is_platform_agent: bool,
        /// Set if the agent is stopped in the chat.
        is_stopped: bool,
        /// Set if the organization of the chat is paused.
        is_paused: bool,
    },
}

/// The answer to the sender of an accepted message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentMessage {
    /// Identifier.
    pub id: MessageId,
    /// The chat.
    pub chat_id: ChatId,
    /// All recipients, without references.
    pub recipients: Vec<Recipient>,
    /// The handles of agents that appear in the text and are not mentioned.
    pub unmentioned: Vec<String>,
    /// The deadline by which the agents must respond, if the text has one.
    pub respond_by: Option<Timestamp>,
}
