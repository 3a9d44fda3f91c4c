//! Chats in lists, with optional parts in addition to the records.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::mark_read::Unread;
use super::model::{Chat, ChatKind, ChatStatus};
use super::participant::Participant;
use super::standing::Standing;
use crate::board::TaskCounts;
use crate::id::AgentId;
use crate::message::{Message, MessageKind};
use crate::page::{Order, Position};
use crate::words::words;

/// The number of participants of a chat that a list shows.
pub const SHOWN_PARTICIPANTS: usize = 100;

/// The number of sequences, from the newest, in which the newest text of a chat is searched.
pub const SEARCHED_SEQUENCES: u32 = 1000;

/// The sort key of a list of chats; ties are broken by id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ChatSort {
    /// By creation, which never changes.
    #[default]
    Created,
    /// By the last change. A chat that changes during a walk through the pages moves in the list.
    Updated,
}

impl ChatSort {
    /// The position of a chat in a list with this sort key.
    pub fn position(self, chat: &Chat) -> Position {
        let time = match self {
            Self::Created => chat.created_at,
            Self::Updated => chat.updated_at,
        };
        Position::at(time.micros(), chat.id)
    }
}

/// The requested parts in addition to the records of chats; every part costs a fixed number of statements.
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
    /// [`ListedChat::unread`].
    pub unread: bool,
}

impl ChatParts {
    /// Every part.
    pub const ALL: Self =
        Self { details: true, participants: true, last_message: true, membership: true, unread: true };
}

/// The filters, order, and parts of a list of chats. The default is a plain list: own chats, newest
/// first, records only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChatListing {
    /// For a human: includes the chats in which only own agents take part.
    pub agent_rooms: bool,
    /// Only chats with this status.
    pub status: Option<ChatStatus>,
    /// Only chats of this kind.
    pub kind: Option<ChatKind>,
    /// The sort key.
    pub sort: ChatSort,
    /// The direction.
    pub order: Order,
    /// The parts.
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

/// An agent as a chat shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ChatAgent {
    /// The agent.
    pub id: AgentId,
    /// Shown name.
    pub name: String,
    /// Handle, without `@`.
    pub handle: String,
}

words! {
    /// The work status of a chat's agents.
    #[derive(Default)]
    WorkStatus {
        /// No attempt is open, and none failed last.
        #[default]
        Idle = "idle",
        /// An agent of the chat has an open attempt, or reports that it is at work.
        Working = "working",
        /// The last attempt of an agent of the chat on some message failed.
        Failed = "failed",
        /// An agent of the chat is stopped.
        Stopped = "stopped",
    }
}

impl WorkStatus {
    /// Derives the status from stopped agents, failed last attempts, and open ones. What needs a person comes first.
    pub const fn of(stopped: bool, failed: bool, working: bool) -> Self {
        if stopped {
            Self::Stopped
        } else if failed {
            Self::Failed
        } else if working {
            Self::Working
        } else {
            Self::Idle
        }
    }

    /// The status if an agent of the chat also reports that it is at work.
    #[must_use]
    pub const fn or_working(self) -> Self {
        match self {
            Self::Idle => Self::Working,
            Self::Working | Self::Failed | Self::Stopped => self,
        }
    }
}

/// The parts of a chat that humans see in addition to its record.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ChatDetails {
    /// The first of its agents by id, at most [`SHOWN_PARTICIPANTS`].
    pub agents: Vec<ChatAgent>,
    /// The work status by the deliveries; indicators are added elsewhere. An open attempt does not count if its
    /// agent is disabled, or is one of `interrupted`.
    pub work: WorkStatus,
    /// The agents with an open attempt whose last socket has ended since it began: they are at work only if they
    /// are connected again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupted: Vec<AgentId>,
    /// The active tasks of its board.
    #[serde(default, skip_serializing_if = "TaskCounts::is_empty")]
    pub tasks: TaskCounts,
}

/// The first participants of a chat.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RosterHead {
    /// By id, at most [`SHOWN_PARTICIPANTS`].
    pub participants: Vec<Participant>,
    /// The number of all participants.
    pub count: u64,
}

impl From<Chat> for ListedChat {
    /// The record, without parts.
    fn from(chat: Chat) -> Self {
        Self { chat, details: None, roster: None, last_message: None, standing: None, unread: None }
    }
}

impl ListedChat {
    /// Agents and work; none unless they were requested.
    pub fn details(&self) -> &ChatDetails {
        static NONE: LazyLock<ChatDetails> = LazyLock::new(ChatDetails::default);
        self.details.as_ref().unwrap_or(&NONE)
    }
}

/// A chat in a list, with the requested parts.
#[derive(Clone, PartialEq, Debug)]
pub struct ListedChat {
    /// The chat.
    pub chat: Chat,
    /// Agents and work.
    pub details: Option<ChatDetails>,
    /// The first participants.
    pub roster: Option<RosterHead>,
    /// The newest text among the newest [`SEARCHED_SEQUENCES`] messages, otherwise the newest message; also `None` if
    /// there is none.
    pub last_message: Option<Message>,
    /// The viewer's standing.
    pub standing: Option<Standing>,
    /// What the viewer has not read; also `None` if the viewer is no participant.
    pub unread: Option<Unread>,
}

/// One chat as a human reads it.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundChat {
    /// The chat, as in a list.
    pub listed: ListedChat,
    /// The number of messages by kind, without kinds that have none; `None` unless requested.
    pub message_counts: Option<Vec<(MessageKind, u64)>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_person_hides_open_work() {
        for working in [false, true] {
            assert_eq!(WorkStatus::of(true, true, working), WorkStatus::Stopped);
            assert_eq!(WorkStatus::of(true, false, working), WorkStatus::Stopped);
            assert_eq!(WorkStatus::of(false, true, working), WorkStatus::Failed);
        }
        assert_eq!(WorkStatus::of(false, false, true), WorkStatus::Working);
        assert_eq!(WorkStatus::of(false, false, false), WorkStatus::Idle);
        let indicated = WorkStatus::ALL.map(WorkStatus::or_working);
        assert_eq!(
            indicated,
            [WorkStatus::Working, WorkStatus::Working, WorkStatus::Failed, WorkStatus::Stopped]
        );
    }
}
