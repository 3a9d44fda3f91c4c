//! A message as stored.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::mention::{Mention, MentionKind};
use crate::delivery::Delivery;
use crate::id::{AgentId, ChatId, MessageId, ParticipantId};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// What kind of message it is. All but `Text` are events.
    MessageKind {
        /// Said to somebody.
        Text = "text",
        /// A tool was called.
        ToolCall = "tool_call",
        /// What the tool gave.
        ToolResult = "tool_result",
        /// What the agent thinks.
        Thought = "thought",
        /// Something went wrong.
        Error = "error",
        /// About a task.
        Task = "task",
        /// A human should look.
        Attention = "attention",
    }
}

impl MessageKind {
    /// Whether it is a record and not something said to somebody.
    pub const fn is_event(self) -> bool {
        !matches!(self, Self::Text)
    }
}

/// A message or an event.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Message {
    /// Identifier.
    pub id: MessageId,
    /// The room.
    #[serde(rename = "chat")]
    pub chat_id: ChatId,
    /// Its place in the room: 1 for the first, then one by one. That of a deleted message stays empty.
    pub sequence: i64,
    /// Text, or which kind of event.
    pub kind: MessageKind,
    /// The text, with `@[[id]]` where somebody is named.
    pub content: String,
    /// Who sent it.
    pub sender: ParticipantId,
    /// The sender's name at that time.
    pub sender_name: String,
    /// The sender's handle, without `@`; `None` if it is unknown, as on a message from a server of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_handle: Option<String>,
    /// Whom it names, in the order of the request; empty for events.
    pub mentions: Vec<Mention>,
    /// Free-form data of an event; `None` for texts.
    pub metadata: Option<Map<String, Value>>,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// What became of it, one record per agent that it was addressed to or that worked on it,
    /// by agent id. The newest attempts only, see [`crate::delivery::SHOWN_ATTEMPTS`].
    pub deliveries: Vec<Delivery>,
}

impl Message {
    /// The agents that the message was addressed to.
    pub fn addressed_agents(&self) -> Vec<AgentId> {
        addressed_agents(&self.mentions)
    }

    /// Bytes that it counts for in a plan: those of its text, and of its metadata as JSON.
    pub fn bytes(&self) -> i64 {
        let json = |metadata| serde_json::to_vec(metadata).map_or(0, |json| json.len());
        let bytes = self.content.len() + self.metadata.as_ref().map_or(0, json);
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }

    /// Whether an agent in the room may read it: what it sent itself, and what mentions it.
    pub fn is_readable_by(&self, agent: AgentId) -> bool {
        self.sender == ParticipantId::Agent(agent) || self.addressed_agents().contains(&agent)
    }
}

/// The agents among `mentions` that are to receive the message.
pub(super) fn addressed_agents(mentions: &[Mention]) -> Vec<AgentId> {
    mentions.iter().filter(|m| m.kind == MentionKind::Mention).filter_map(|m| m.id.agent()).collect()
}

/// Somebody that a sent message was addressed to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recipient {
    /// Who.
    pub id: ParticipantId,
    /// Handle, without `@`.
    pub handle: String,
    /// Shown name.
    pub name: String,
}

/// What the sender learns of an accepted message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentMessage {
    /// Identifier.
    pub id: MessageId,
    /// The room.
    pub chat_id: ChatId,
    /// Everybody it was addressed to, references left out.
    pub recipients: Vec<Recipient>,
}
