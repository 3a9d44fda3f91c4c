//! The history of tasks and goals.

use serde::{Deserialize, Serialize};

use super::task::TaskStatus;
use crate::account::{Agent, User};
use crate::chat::Participant;
use crate::id::{BoardTaskId, ParticipantId};
use crate::time::Timestamp;
use crate::words::words;

/// The number of entries that are shown with a task or a goal at most: the newest, as far as they fit into a page
/// ([`crate::page::PAGE_BYTES`]).
pub const EMBEDDED_ENTRIES: u32 = 100;

/// A user or an agent, with the names of the time at which it did something.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Actor {
    /// The user or agent.
    pub id: ParticipantId,
    /// Its name then.
    pub name: String,
    /// Its handle then, without `@`.
    pub handle: String,
}

impl From<Participant> for Actor {
    fn from(participant: Participant) -> Self {
        Self { id: participant.id, name: participant.name, handle: participant.handle }
    }
}

impl From<&Agent> for Actor {
    fn from(agent: &Agent) -> Self {
        let handle = agent.handle.as_str().to_owned();
        Self { id: ParticipantId::Agent(agent.id), name: agent.name.clone(), handle }
    }
}

impl From<&User> for Actor {
    fn from(user: &User) -> Self {
        let handle = user.handle.as_str().to_owned();
        Self { id: ParticipantId::User(user.id), name: user.name.full(), handle }
    }
}

/// A changed value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Edit<T> {
    /// Before.
    pub from: T,
    /// After.
    pub to: T,
}

impl<T: Clone + PartialEq> Edit<T> {
    /// Sets a value; `None` if it does not differ.
    pub(super) fn set(value: &mut T, to: T) -> Option<Self> {
        (*value != to).then(|| Self { from: std::mem::replace(value, to.clone()), to })
    }
}

words! {
    /// The reason why an assignment was dropped.
    DropReason {
        /// The assignee left the chat.
        Left = "left",
        /// The assignee was removed from the chat.
        Removed = "removed",
        /// The assignee was deleted.
        Deleted = "deleted",
    }
}

/// The changed parts of a goal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GoalEdits {
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Edit<Option<String>>>,
    /// The summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Edit<Option<String>>>,
}

/// What was done; stores keep it as JSON.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum BoardAction {
    /// A task was created.
    Created {
        /// Its first subject.
        subject: String,
        /// Its first detail.
        detail: String,
        /// The task that it replaces.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        supersedes: Option<BoardTaskId>,
    },
    /// A task has another subject or detail.
    Edited {
        /// The subject.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<Edit<String>>,
        /// The detail.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<Edit<String>>,
    },
    /// An assignee reported a status, or the id that the task has in its tools.
    StatusChanged {
        /// The status before; `None` if the actor joined with it.
        from: Option<TaskStatus>,
        /// The status.
        to: TaskStatus,
        /// The id, if it was reported.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        linked_native_id: Option<String>,
    },
    /// Somebody wrote a comment.
    Commented {
        /// The comment.
        text: String,
    },
    /// An assignee left the chat.
    Dropped {
        /// The reason.
        reason: DropReason,
    },
    /// An active task was cancelled.
    Cancelled,
    /// An active task was archived.
    Archived,
    /// An archived task is active again.
    Unarchived,
    /// An active task was replaced.
    Superseded {
        /// The task that replaces it.
        by: BoardTaskId,
    },
    /// A goal was set for the first time.
    GoalSet(GoalEdits),
    /// A goal was changed.
    GoalEdited(GoalEdits),
}

/// An entry of a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The time.
    pub at: Timestamp,
    /// Who did it.
    pub actor: Actor,
    /// What was done.
    pub action: BoardAction,
}

/// The newest entries of a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct History {
    /// At most [`EMBEDDED_ENTRIES`], oldest first.
    pub entries: Vec<Entry>,
    /// Set if there are older ones.
    pub is_truncated: bool,
}

impl History {
    /// Of the shown entries, newest first.
    pub fn of_newest(mut entries: Vec<Entry>, is_truncated: bool) -> Self {
        entries.reverse();
        Self { entries, is_truncated }
    }
}

/// A task or a board with its history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WithHistory<T> {
    /// The task or board.
    pub record: T,
    /// The history, if requested.
    pub history: Option<History>,
}
