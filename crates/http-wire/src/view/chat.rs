//! Rooms as clients see them.

use domain::chat::Chat;
use domain::id::{ChatId, TaskId};
use domain::message::{MaxHops, RespondWithin};
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;

/// A room, in both APIs and in socket events.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct ChatView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ChatId>,
    /// The title, or a placeholder if the room has none. Never null.
    title: &'a str,
    #[schema(value_type = Option<super::Id>)]
    task_id: Option<Shown<TaskId>>,
    #[serde(rename = "type")]
    kind: &'static str,
    /// Same value as `type`.
    chat_type: &'static str,
    status: &'static str,
    #[schema(value_type = Option<super::Instant>)]
    last_message_at: Option<Shown<Timestamp>>,
    #[schema(value_type = super::Instant)]
    created_at: Shown<Timestamp>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    #[schema(value_type = super::Instant)]
    updated_at: Shown<Timestamp>,
    /// The seconds after which agents must have processed a text that mentions them and has no deadline of its
    /// own. Absent without such a default.
    #[serde(skip_serializing_if = "Option::is_none")]
    respond_within: Option<u32>,
    /// The number of messages that may follow from one another before the next one of an agent is held. Absent if the
    /// room has no limit of its own; a stricter one of its organization or of the server counts nevertheless.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_hops: Option<u32>,
}

impl<'a> ChatView<'a> {
    /// Shows `chat`; a room without a title gets the placeholder.
    pub fn new(chat: &'a Chat) -> Self {
        Self {
            id: Shown(chat.id),
            title: chat.display_title(),
            task_id: chat.task_id.map(Shown),
            kind: chat.kind.as_str(),
            chat_type: chat.kind.as_str(),
            status: chat.status.as_str(),
            last_message_at: chat.last_message_at.map(Shown),
            created_at: Shown(chat.created_at),
            inserted_at: Shown(chat.created_at),
            updated_at: Shown(chat.updated_at),
            respond_within: chat.respond_within.map(RespondWithin::seconds),
            max_hops: chat.max_hops.map(MaxHops::get),
        }
    }
}
