//! Tasks, their assignments, and what follows from these.

use serde::{Deserialize, Serialize};

use super::history::{Actor, BoardAction, DropReason, Entry};
use crate::id::{BoardTaskId, ChatId, ParticipantId};
use crate::page::Position;
use crate::time::Timestamp;
use crate::words::words;

/// The number of a task in its chat, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskNumber(u32);

impl TaskNumber {
    /// Wraps a number that is known to be one of a task.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Reads a decimal number without a sign or leading zeros.
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_plain { text.parse().ok().map(Self) } else { None }
    }

    /// The number itself.
    pub const fn get(self) -> u32 {
        self.0
    }
}

words! {
    /// Whether a task is on the board.
    TaskState {
        /// It can be worked on.
        Active = "active",
        /// It will not be done.
        Cancelled = "cancelled",
        /// Another task replaces it.
        Superseded = "superseded",
        /// It was put away, and can come back.
        Archived = "archived",
    }
}

words! {
    /// How far a task is, for one assignee or overall.
    TaskStatus {
        /// Not begun.
        Pending = "pending",
        /// In work.
        InProgress = "in_progress",
        /// Something else must happen first.
        Blocked = "blocked",
        /// Done, and to be looked at.
        InReview = "in_review",
        /// Given up.
        Failed = "failed",
        /// Done.
        Completed = "completed",
    }
}

impl TaskStatus {
    /// The overall status of a task whose assignees have these. What needs a person comes first.
    pub fn roll_up(statuses: impl IntoIterator<Item = Self>) -> Self {
        let statuses = statuses.into_iter().collect::<Vec<_>>();
        let all = |wanted: &[Self]| statuses.iter().all(|status| wanted.contains(status));
        for urgent in [Self::Blocked, Self::Failed, Self::InProgress] {
            if statuses.contains(&urgent) {
                return urgent;
            }
        }
        if all(&[Self::Pending]) {
            Self::Pending
        } else if all(&[Self::Completed]) {
            Self::Completed
        } else if all(&[Self::Completed, Self::InReview]) {
            Self::InReview
        } else {
            Self::InProgress
        }
    }
}

/// The work of one participant on a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// The participant, with the names of the time of joining.
    pub assignee: Actor,
    /// Its status.
    pub status: TaskStatus,
    /// What it is doing; may be empty.
    pub active_form: String,
    /// The id that the task has in its tools; may be empty.
    pub linked_native_id: String,
    /// The time of its last report.
    pub updated_at: Timestamp,
}

/// A task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Identifier.
    pub id: BoardTaskId,
    /// The chat.
    pub chat: ChatId,
    /// Its number there.
    pub number: TaskNumber,
    /// What is to be done.
    pub subject: String,
    /// More about it; may be empty.
    pub detail: String,
    /// Whether it is on the board.
    pub state: TaskState,
    /// The overall status.
    pub status: TaskStatus,
    /// In the order of joining.
    pub assignments: Vec<Assignment>,
    /// Who created it.
    pub created_by: Actor,
    /// The task that replaces it.
    pub superseded_by: Option<BoardTaskId>,
    /// The time at which the overall status was first something other than pending.
    pub started_at: Option<Timestamp>,
    /// The time at which it was completed; `None` if it is not completed now.
    pub completed_at: Option<Timestamp>,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change, a comment included.
    pub updated_at: Timestamp,
}

impl Task {
    /// The position in the list of a chat's tasks.
    pub fn position(&self) -> Position {
        Position::at(self.number.get().into(), self.id)
    }

    /// The status by which the chat counts it, if it does.
    pub fn counted(&self) -> Option<TaskStatus> {
        (self.state == TaskState::Active).then_some(self.status)
    }

    /// The assignment of a participant.
    pub(super) fn assignment_of(&mut self, who: ParticipantId) -> Option<&mut Assignment> {
        self.assignments.iter_mut().find(|assignment| assignment.assignee.id == who)
    }

    /// Derives the overall status again, with its times.
    pub(super) fn roll_up(&mut self, now: Timestamp) {
        self.status = TaskStatus::roll_up(self.assignments.iter().map(|assignment| assignment.status));
        if self.status != TaskStatus::Pending {
            self.started_at.get_or_insert(now);
        }
        self.completed_at = (self.status == TaskStatus::Completed).then(|| self.completed_at.unwrap_or(now));
    }

    /// Marks it as replaced by another task, if it is active.
    pub fn supersede(&mut self, by: BoardTaskId, actor: Actor, now: Timestamp) -> Option<Entry> {
        if self.state != TaskState::Active {
            return None;
        }
        let now = now.max(self.updated_at);
        self.state = TaskState::Superseded;
        self.superseded_by = Some(by);
        self.updated_at = now;
        Some(Entry { at: now, actor, action: BoardAction::Superseded { by } })
    }

    /// Takes away the assignment of a participant that leaves the chat, unless it is completed or the task is not
    /// active.
    pub fn drop_assignee(&mut self, actor: &Actor, reason: DropReason, now: Timestamp) -> Option<Entry> {
        let is_open = |assignment: &Assignment| {
            assignment.assignee.id == actor.id && assignment.status != TaskStatus::Completed
        };
        if self.state != TaskState::Active || !self.assignments.iter().any(is_open) {
            return None;
        }
        let now = now.max(self.updated_at);
        self.assignments.retain(|assignment| !is_open(assignment));
        self.roll_up(now);
        self.updated_at = now;
        Some(Entry { at: now, actor: actor.clone(), action: BoardAction::Dropped { reason } })
    }
}

/// The number of a chat's active tasks with each overall status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TaskCounts {
    /// Not begun.
    pub pending: u32,
    /// In work.
    pub in_progress: u32,
    /// Blocked.
    pub blocked: u32,
    /// To be looked at.
    pub in_review: u32,
    /// Given up.
    pub failed: u32,
    /// Done.
    pub completed: u32,
}

impl TaskCounts {
    /// The counts in the order of [`TaskStatus::ALL`].
    pub fn of(numbers: [i64; 6]) -> Self {
        let numbers = numbers.map(|number| u32::try_from(number).unwrap_or_default());
        let [pending, in_progress, blocked, in_review, failed, completed] = numbers;
        Self { pending, in_progress, blocked, in_review, failed, completed }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a task adds to the counts, in the order of [`TaskStatus::ALL`], if it was counted by `before` and is counted by
    /// `after` now; `None` if that is nothing.
    pub fn moved(before: Option<TaskStatus>, after: Option<TaskStatus>) -> Option<[i64; 6]> {
        let of = |counted, status| i64::from(counted == Some(status));
        (before != after).then(|| TaskStatus::ALL.map(|status| of(after, status) - of(before, status)))
    }
}
