//! A message as stored.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::cause::Cause;
use super::mention::{Mention, with_handles};
use super::trace::TraceParent;
use crate::chat::Standing;
use crate::delivery::{Delivery, DeliveryStatus};
use crate::file::File;
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
    /// Free-form data of an event; of a text at most its [`Message::client_id`].
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
    /// The files that it shows, in the order of the request; those that have expired are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<File>,
    /// Its delivery records by agent id, one for each agent that it was addressed to or that worked
    /// on it, with the newest attempts only; see [`crate::delivery::SHOWN_ATTEMPTS`].
    pub deliveries: Vec<Delivery>,
}

impl Message {
    /// The member of a text's metadata that has its [`Self::client_id`].
    pub(super) const CLIENT_ID: &str = "client_id";

    /// The id that the sender's client has given the text, if the protocol has such ids. Only this client can tell whether it
    /// is unique.
    pub fn client_id(&self) -> Option<&str> {
        let metadata = self.metadata.as_ref().filter(|_| !self.kind.is_event());
        metadata.and_then(|metadata| metadata.get(Self::CLIENT_ID)).and_then(Value::as_str)
    }

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

    /// The beginning of the message for a list of chats: at most `chars` characters, the mentions in them, and nothing else
    /// that can be large. A marker that does not fit is left out.
    #[must_use]
    pub fn preview(mut self, chars: usize) -> Self {
        if let Some((end, _)) = self.content.char_indices().nth(chars) {
            let kept = &self.content[..end];
            let is_split =
                |start: &usize| end - start < Mention::MARKER_BYTES && !kept[*start..].contains("]]");
            let cut = kept.rfind("@[[").filter(is_split).unwrap_or(end);
            self.content.truncate(cut);
        }
        self.mentions.retain(|mention| self.content.contains(&mention.marker()));
        Self { metadata: None, deliveries: Vec::new(), ..self }
    }

    /// The text, such as a part of its own, with `@handle` for each marker of its mentions.
    pub fn with_handles(&self, text: &str) -> String {
        with_handles(text, &self.mentions)
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
        /// Set if the agent or the organization of the chat is paused.
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

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::message::{MentionKind, sample};

    const BOT: AgentId = AgentId::new(Uuid::from_u128(2));

    fn message(content: &str) -> Message {
        let id = ParticipantId::Agent(BOT);
        let mention =
            Mention { id, handle: "ann/bot".to_owned(), name: "Bot".to_owned(), kind: MentionKind::Mention };
        Message { mentions: vec![mention], ..sample::text(content) }
    }

    #[test]
    fn a_preview_has_whole_markers_only() {
        let marker = format!("@[[{BOT}]]");
        assert_eq!(marker.len(), Mention::MARKER_BYTES);
        let text = format!("hello {marker} and so on");
        for (chars, shown, mentions) in
            [(4, "hell", 0), (20, "hello ", 0), (46, "hello ", 0), (47, &text[..47], 1), (999, &text[..], 1)]
        {
            let preview = message(&text).preview(chars);
            assert_eq!((preview.content.as_str(), preview.mentions.len()), (shown, mentions), "{chars}");
        }
    }

    #[test]
    fn a_preview_keeps_what_only_begins_like_a_marker() {
        let text = format!("@[[ is how a marker begins{}", ".".repeat(100));
        assert_eq!(message(&text).preview(100).content, text[..100]);
        let both = format!("{} @[[{BOT}]]", "@[[ é ".repeat(20));
        let shown = message(&both).preview(130).content;
        assert_eq!(shown, "@[[ é ".repeat(20) + " ");
    }
}
