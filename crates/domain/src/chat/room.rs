//! The room itself.

use uuid::Uuid;

use crate::id::ChatId;
use crate::time::Timestamp;

/// What a room is meant for; descriptive only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ChatKind {
    /// The default.
    #[default]
    Direct,
    /// A room of several.
    Group,
    /// A room about one task.
    Task,
}

impl ChatKind {
    /// The word that the wire and the stores use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Group => "group",
            Self::Task => "task",
        }
    }

    /// Reads [`Self::as_str`] back.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Direct, Self::Group, Self::Task].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Where a room stands in its life; a deleted room is none at all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ChatStatus {
    /// In use.
    #[default]
    Active,
    /// Put aside.
    Archived,
    /// Nobody is left in it.
    Closed,
}

impl ChatStatus {
    /// The word that the wire and the stores use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Archived => "archived",
            Self::Closed => "closed",
        }
    }

    /// Reads [`Self::as_str`] back.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Active, Self::Archived, Self::Closed].into_iter().find(|status| status.as_str() == text)
    }
}

/// A room.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chat {
    /// Identifier.
    pub id: ChatId,
    /// Given at creation or made from the first message; `None` until then.
    pub title: Option<String>,
    /// A task elsewhere that the room is about; not checked.
    pub task_id: Option<Uuid>,
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
