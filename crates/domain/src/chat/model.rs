//! The chat itself.

use serde::{Deserialize, Serialize};

use crate::id::{ChatId, TaskId};
use crate::message::{MaxHops, RespondWithin};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// The purpose of a chat; descriptive only.
    #[derive(Default)]
    ChatKind {
        /// The default.
        #[default]
        Direct = "direct",
        /// A chat of several participants.
        Group = "group",
        /// A chat about one task.
        Task = "task",
    }
}

words! {
    /// The status of a chat; a deleted one has none.
    #[derive(Default)]
    ChatStatus {
        /// In use.
        #[default]
        Active = "active",
        /// Archived.
        Archived = "archived",
        /// It has no participants left.
        Closed = "closed",
    }
}

/// A chat.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Chat {
    /// Identifier.
    pub id: ChatId,
    /// Set at creation or derived from the first message; `None` until then.
    pub title: Option<String>,
    /// A task outside Parlance that the chat is about; not checked.
    #[serde(rename = "task")]
    pub task_id: Option<TaskId>,
    /// Its purpose.
    pub kind: ChatKind,
    /// Its status.
    pub status: ChatStatus,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change of its record, its roster, or its messages.
    pub updated_at: Timestamp,
    /// The time of the newest message or event.
    pub last_message_at: Option<Timestamp>,
    /// The deadline of texts that mention agents and have none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub respond_within: Option<RespondWithin>,
    /// Its own limit of hops; a limit of its organization or of the server that is stricter counts nevertheless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_hops: Option<MaxHops>,
}

impl Chat {
    /// The title, or the placeholder of a chat without one.
    pub fn display_title(&self) -> &str {
        self.title.as_deref().unwrap_or("Untitled room")
    }
}
