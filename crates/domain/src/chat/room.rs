//! The room itself.

use serde::{Deserialize, Serialize};

use crate::id::{ChatId, TaskId};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// What a room is meant for; descriptive only.
    #[derive(Default)]
    ChatKind {
        /// The default.
        #[default]
        Direct = "direct",
        /// A room of several.
        Group = "group",
        /// A room about one task.
        Task = "task",
    }
}

words! {
    /// Where a room stands in its life; a deleted room is none at all.
    #[derive(Default)]
    ChatStatus {
        /// In use.
        #[default]
        Active = "active",
        /// Put aside.
        Archived = "archived",
        /// Nobody is left in it.
        Closed = "closed",
    }
}

/// A room.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Chat {
    /// Identifier.
    pub id: ChatId,
    /// Given at creation or made from the first message; `None` until then.
    pub title: Option<String>,
    /// A task elsewhere that the room is about; not checked.
    #[serde(rename = "task")]
    pub task_id: Option<TaskId>,
    /// What the room is meant for.
    pub kind: ChatKind,
    /// Where it stands in its life.
    pub status: ChatStatus,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its record, its roster or its messages last changed.
    pub updated_at: Timestamp,
    /// When the newest message or event was stored.
    pub last_message_at: Option<Timestamp>,
}

impl Chat {
    /// The title, or the placeholder of a room that has none yet.
    pub fn display_title(&self) -> &str {
        self.title.as_deref().unwrap_or("Untitled room")
    }
}
