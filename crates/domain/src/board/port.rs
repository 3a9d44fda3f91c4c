//! The store of boards.

use async_trait::async_trait;

use super::changes::{Applied, TaskChanges, TaskRefused};
use super::goal::{Board, EmptyGoal, GoalChanges};
use super::history::{Actor, BoardAction, Entry, WithHistory};
use super::task::{Task, TaskNumber, TaskState, TaskStatus};
use super::text::{TaskDetail, TaskSubject};
use crate::caller::Caller;
use crate::chat::ShownChat;
use crate::id::{BoardTaskId, ChatId, ParticipantId};
use crate::idempotency::{KeyedRequest, StoredAnswer};
use crate::page::{Page, PageRequest};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// A task, as a caller names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhichTask {
    /// By its id.
    Id(BoardTaskId),
    /// By its number in the chat.
    Number(TaskNumber),
}

impl WhichTask {
    /// Reads an id or a number.
    pub fn parse(text: &str) -> Option<Self> {
        BoardTaskId::parse(text).map(Self::Id).or_else(|| TaskNumber::parse(text).map(Self::Number))
    }
}

/// The tasks of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskFilter {
    /// All.
    All,
    /// Those in this state.
    In(TaskState),
}

/// A goal to be set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetGoal {
    /// The chat.
    pub chat: ChatId,
    /// The caller.
    pub by: Caller,
    /// The changes.
    pub changes: GoalChanges,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why a goal was not set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetGoalRefused {
    /// The caller is no participant of the chat, or it does not exist.
    NotFound,
    /// Nothing would be left of the goal.
    Empty(EmptyGoal),
}

/// A task to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewTask {
    /// Identifier.
    pub id: BoardTaskId,
    /// The chat.
    pub chat: ChatId,
    /// The caller.
    pub by: Caller,
    /// What is to be done.
    pub subject: TaskSubject,
    /// More about it.
    pub detail: TaskDetail,
    /// The task that it replaces.
    pub supersedes: Option<WhichTask>,
    /// The maximum number of tasks of the chat.
    pub max_tasks: u32,
    /// Set for a request with an idempotency key.
    pub keyed: Option<KeyedRequest>,
    /// The current time.
    pub now: Timestamp,
}

impl NewTask {
    /// The task right after its creation, with its first entry; `superseded` is the one that it replaces.
    pub fn into_task(
        self,
        number: TaskNumber,
        created_by: Actor,
        superseded: Option<BoardTaskId>,
    ) -> (Task, Entry) {
        let (subject, detail) = (self.subject.into_string(), self.detail.into_string());
        let action =
            BoardAction::Created { subject: subject.clone(), detail: detail.clone(), supersedes: superseded };
        let entry = Entry { at: self.now, actor: created_by.clone(), action };
        let task = Task {
            id: self.id,
            chat: self.chat,
            number,
            subject,
            detail,
            state: TaskState::Active,
            status: TaskStatus::Pending,
            assignments: Vec::new(),
            created_by,
            superseded_by: None,
            started_at: None,
            completed_at: None,
            created_at: self.now,
            updated_at: self.now,
        };
        (task, entry)
    }
}

/// A stored task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreatedTask {
    /// The task.
    pub task: Task,
    /// The task that it replaces, after the change.
    pub superseded: Option<Task>,
}

/// The reason why no task was created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CreateTaskRefused {
    /// The caller is no participant of the chat, or it does not exist.
    NotFound,
    /// The task to be replaced is not in the chat.
    SupersededNotFound,
    /// The task to be replaced is not active.
    SupersededNotActive,
    /// The chat has as many tasks as it may have.
    Full {
        /// The maximum.
        limit: u32,
    },
    /// The request repeats one that created a task, which is found under the record's id.
    Repeated(StoredAnswer),
    /// The idempotency key was used for a different request.
    KeyReused,
}

/// A task to be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeTask {
    /// The chat.
    pub chat: ChatId,
    /// The caller.
    pub by: Caller,
    /// The task.
    pub task: WhichTask,
    /// The changes.
    pub changes: TaskChanges,
    /// The current time.
    pub now: Timestamp,
}

impl ChangeTask {
    /// Makes the changes, on behalf of the caller under its present names.
    pub fn decide(&self, task: Task, actor: &Actor) -> Result<ChangedTask, TaskRefused> {
        let counted = task.counted();
        let Applied { task, entries, has_changed } = task.changed(&self.changes, actor, self.now)?;
        Ok(ChangedTask { has_moved: counted != task.counted(), task, entries, has_changed })
    }
}

/// A changed task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedTask {
    /// The task after the change.
    pub task: Task,
    /// What is added to its history, in order.
    pub entries: Vec<Entry>,
    /// Set unless everything is as it was, but for the time of the caller's report.
    pub has_changed: bool,
    /// Set if the chat counts it by another status, or no longer, or again.
    pub has_moved: bool,
}

/// The reason why a task was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeTaskRefused {
    /// The caller is no participant of the chat, or the chat or the task does not exist.
    NotFound,
    /// A rule of tasks.
    Refused(TaskRefused),
}

/// Boards and their tasks. `None` of a read means that the viewer cannot see the chat, that it does not exist, or that it
/// has no such task.
///
/// Writes are by participants; a change of a task is decided on its locked row.
#[async_trait]
pub trait BoardRepository: Send + Sync {
    /// The board of a chat, with its newest entries on demand.
    async fn board(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        with_history: bool,
    ) -> Result<Option<WithHistory<Board>>, StoreError>;

    /// Sets the goal as [`Board::set_goal`] does. `on_commit` runs only if it changed.
    async fn set_goal(
        &self,
        command: SetGoal,
        on_commit: OnCommit<Board>,
    ) -> Result<Result<Board, SetGoalRefused>, StoreError>;

    /// The tasks of a chat by number; the position is [`Task::position`]. Pages are by cursor only, and bounded in bytes,
    /// see [`crate::page::fitting`].
    async fn tasks(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        filter: TaskFilter,
        page: PageRequest,
    ) -> Result<Option<Page<Task>>, StoreError>;

    /// A task, with its newest entries on demand.
    async fn task(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        task: WhichTask,
        with_history: bool,
    ) -> Result<Option<WithHistory<Task>>, StoreError>;

    /// The entries of a task, oldest first; the key of the position is the number of the entry. Pages are by cursor only,
    /// and bounded in bytes.
    async fn task_history(
        &self,
        viewer: ParticipantId,
        chat: ChatId,
        task: WhichTask,
        page: PageRequest,
    ) -> Result<Option<Page<Entry>>, StoreError>;

    /// Stores a task under the next number of the chat. The task that it replaces becomes superseded, if it is active.
    ///
    /// First, a keyed request is compared with the idempotency records ([`crate::idempotency`]); with the task, the result
    /// of the request is recorded.
    async fn create_task(
        &self,
        new: NewTask,
        on_commit: OnCommit<CreatedTask>,
    ) -> Result<Result<CreatedTask, CreateTaskRefused>, StoreError>;

    /// Changes a task as [`ChangeTask::decide`] decides.
    async fn change_task(
        &self,
        command: ChangeTask,
        on_commit: OnCommit<ChangedTask>,
    ) -> Result<Result<ChangedTask, ChangeTaskRefused>, StoreError>;

    /// Erases some of a board whose chat was deleted: at most `limit` entries or tasks. Returns whether there was one.
    async fn erase_deleted(&self, limit: u32) -> Result<bool, StoreError>;

    /// Those of the chats that exist, as their humans see them, in any order.
    async fn shown(&self, chats: Vec<ChatId>) -> Result<Vec<ShownChat>, StoreError>;
}
