//! Rooms in lists, and what can be told of a room beside its record.

use serde::{Deserialize, Serialize};

use super::participant::Participant;
use super::room::{Chat, ChatKind, ChatStatus};
use super::standing::Standing;
use crate::id::AgentId;
use crate::message::{Message, MessageKind};
use crate::page::{Order, Position};
use crate::words::words;

/// How many participants of a room are shown in a list.
pub const SHOWN_PARTICIPANTS: usize = 100;

/// By what a list of rooms is sorted; equal times by id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ChatSort {
    /// By creation, which never moves.
    #[default]
    Created,
    /// By the last change. A room that changes while somebody follows the list moves in it.
    Updated,
}

impl ChatSort {
    /// Where a room stands in a list sorted so.
    pub fn position(self, chat: &Chat) -> Position {
        let time = match self {
            Self::Created => chat.created_at,
            Self::Updated => chat.updated_at,
        };
        Position::at(time.micros(), chat.id.uuid())
    }
}

/// What is wanted beside the records of rooms; every part costs a fixed number of statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChatParts {
    /// [`ListedChat::details`].
    pub details: bool,
    /// [`ListedChat::roster`].
    pub participants: bool,
    /// [`ListedChat::last_message`].
    pub last_message: bool,
    /// [`ListedChat::standing`].
    pub membership: bool,
}

/// Which rooms are wanted, in which order, and what of them. The default is what a plain list
/// holds: own rooms, newest first, records only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChatListing {
    /// A human's: also the rooms in which only own agents take part.
    pub agent_rooms: bool,
    /// Only these.
    pub status: Option<ChatStatus>,
    /// Only these.
    pub kind: Option<ChatKind>,
    /// By what.
    pub sort: ChatSort,
    /// In which direction.
    pub order: Order,
    /// What of them.
    pub parts: ChatParts,
}

impl Default for ChatListing {
    fn default() -> Self {
        Self {
            agent_rooms: false,
            status: None,
            kind: None,
            sort: ChatSort::default(),
            order: Order::Descending,
            parts: ChatParts::default(),
        }
    }
}

/// An agent as a room shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RoomAgent {
    /// The agent.
    pub id: AgentId,
    /// Shown name.
    pub name: String,
    /// Handle, without `@`.
    pub handle: String,
}

words! {
    /// Whether a room's agents are at work.
    #[derive(Default)]
    WorkStatus {
        /// No attempt is open, none failed last.
        #[default]
        Idle = "idle",
        /// An agent of the room has an attempt open, or says that it is at work.
        Working = "working",
        /// The last attempt on some message of an agent of the room failed.
        Failed = "failed",
    }
}

impl WorkStatus {
    /// From whether an attempt is open and whether one failed last.
    pub const fn of(working: bool, failed: bool) -> Self {
        if working {
            Self::Working
        } else if failed {
            Self::Failed
        } else {
            Self::Idle
        }
    }
}

/// What a human sees of a room beside its record.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ChatDetails {
    /// The first of its agents by id, at most [`SHOWN_PARTICIPANTS`].
    pub agents: Vec<RoomAgent>,
    /// What the deliveries say about work; indicators are known elsewhere.
    pub work: WorkStatus,
}

/// The first participants of a room.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RosterHead {
    /// By id, at most [`SHOWN_PARTICIPANTS`].
    pub participants: Vec<Participant>,
    /// How many there are.
    pub count: u64,
}

/// A room in a list, with the parts that were asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct ListedChat {
    /// The room.
    pub chat: Chat,
    /// Agents and work.
    pub details: Option<ChatDetails>,
    /// Its first participants.
    pub roster: Option<RosterHead>,
    /// The newest text or event; `None` also when there is none.
    pub last_message: Option<Message>,
    /// How the viewer stands to it.
    pub standing: Option<Standing>,
}

/// One room as a human reads it.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundChat {
    /// The room.
    pub chat: Chat,
    /// Agents and work.
    pub details: ChatDetails,
    /// How many messages it has of each kind that it has any of; `None` unless asked for.
    pub message_counts: Option<Vec<(MessageKind, u64)>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_work_hides_failed_work() {
        assert_eq!(WorkStatus::of(false, false), WorkStatus::Idle);
        assert_eq!(WorkStatus::of(false, true), WorkStatus::Failed);
        assert_eq!(WorkStatus::of(true, true), WorkStatus::Working);
        assert_eq!(WorkStatus::of(true, false), WorkStatus::Working);
    }
}
