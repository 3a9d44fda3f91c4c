//! Boards and tasks as clients see them.

use domain::board::{
    Actor, Assignment, Board, BoardAction, Edit, Entry, GoalEdits, History, Task, TaskCounts, TaskStatus,
    WithHistory,
};
use domain::id::{BoardTaskId, ChatId, ParticipantId};
use domain::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::Shown;

/// A user or an agent under the names that it had at the time.
#[derive(Debug, Serialize, ToSchema)]
struct ActorView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<ParticipantId>,
    /// `User` or `Agent`.
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    handle: &'a str,
}

impl<'a> ActorView<'a> {
    fn new(actor: &'a Actor) -> Self {
        let Actor { id, name, handle } = actor;
        Self { id: Shown(*id), kind: id.kind().as_str(), name, handle }
    }
}

/// The work of one participant on a task.
#[derive(Debug, Serialize, ToSchema)]
struct AssignmentView<'a> {
    assignee: ActorView<'a>,
    /// `pending`, `in_progress`, `blocked`, `in_review`, `failed`, or `completed`.
    status: &'static str,
    /// What the assignee is doing; may be empty.
    active_form: &'a str,
    /// The id of the task in the assignee's own tools; may be empty.
    linked_native_id: &'a str,
    #[schema(value_type = super::Instant)]
    updated_at: Shown<Timestamp>,
}

impl<'a> AssignmentView<'a> {
    fn new(assignment: &'a Assignment) -> Self {
        Self {
            assignee: ActorView::new(&assignment.assignee),
            status: assignment.status.as_str(),
            active_form: &assignment.active_form,
            linked_native_id: &assignment.linked_native_id,
            updated_at: Shown(assignment.updated_at),
        }
    }
}

/// A task of a room.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskView<'a> {
    #[schema(value_type = super::Id)]
    id: Shown<BoardTaskId>,
    #[schema(value_type = super::Id)]
    chat_room_id: Shown<ChatId>,
    /// Unique in the room.
    number: u32,
    subject: &'a str,
    /// May be empty.
    detail: &'a str,
    /// `active`, `cancelled`, `superseded`, or `archived`.
    state: &'static str,
    /// Follows from the assignments: `pending`, `in_progress`, `blocked`, `in_review`, `failed`, or `completed`.
    overall_status: &'static str,
    /// In the order of joining.
    assignments: Vec<AssignmentView<'a>>,
    created_by: ActorView<'a>,
    #[schema(value_type = Option<super::Id>)]
    superseded_by_id: Option<Shown<BoardTaskId>>,
    /// When the overall status first changed from `pending`.
    #[schema(value_type = Option<super::Instant>)]
    started_at: Option<Shown<Timestamp>>,
    /// When the overall status became `completed`; otherwise null.
    #[schema(value_type = Option<super::Instant>)]
    completed_at: Option<Shown<Timestamp>>,
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    #[schema(value_type = super::Instant)]
    updated_at: Shown<Timestamp>,
    #[serde(flatten)]
    history: Option<HistoryView<'a>>,
}

impl<'a> TaskView<'a> {
    /// Shows `task` without its history.
    pub fn new(task: &'a Task) -> Self {
        Self {
            id: Shown(task.id),
            chat_room_id: Shown(task.chat),
            number: task.number.get(),
            subject: &task.subject,
            detail: &task.detail,
            state: task.state.as_str(),
            overall_status: task.status.as_str(),
            assignments: task.assignments.iter().map(AssignmentView::new).collect(),
            created_by: ActorView::new(&task.created_by),
            superseded_by_id: task.superseded_by.map(Shown),
            started_at: task.started_at.map(Shown),
            completed_at: task.completed_at.map(Shown),
            inserted_at: Shown(task.created_at),
            updated_at: Shown(task.updated_at),
            history: None,
        }
    }

    /// Shows a task with its history, if that was read.
    pub fn found(found: &'a WithHistory<Task>) -> Self {
        Self { history: found.history.as_ref().map(HistoryView::new), ..Self::new(&found.record) }
    }
}

/// The board of a room, without its tasks. Until its goal is set, all members but the room are null.
#[derive(Debug, Serialize, ToSchema)]
pub struct BoardView<'a> {
    #[schema(value_type = super::Id)]
    chat_room_id: Shown<ChatId>,
    goal_title: Option<&'a str>,
    goal_summary: Option<&'a str>,
    created_by: Option<ActorView<'a>>,
    updated_by: Option<ActorView<'a>>,
    #[schema(value_type = Option<super::Instant>)]
    inserted_at: Option<Shown<Timestamp>>,
    #[schema(value_type = Option<super::Instant>)]
    updated_at: Option<Shown<Timestamp>>,
    #[serde(flatten)]
    history: Option<HistoryView<'a>>,
}

impl<'a> BoardView<'a> {
    /// Shows `board` without its history.
    pub fn new(board: &'a Board) -> Self {
        Self {
            chat_room_id: Shown(board.chat),
            goal_title: board.title.as_deref(),
            goal_summary: board.summary.as_deref(),
            created_by: board.created_by.as_ref().map(ActorView::new),
            updated_by: board.updated_by.as_ref().map(ActorView::new),
            inserted_at: board.created_at.map(Shown),
            updated_at: board.updated_at.map(Shown),
            history: None,
        }
    }

    /// Shows a board with its history, if that was read.
    pub fn found(found: &'a WithHistory<Board>) -> Self {
        Self { history: found.history.as_ref().map(HistoryView::new), ..Self::new(&found.record) }
    }
}

/// The newest entries of a history. Present only if requested.
#[derive(Debug, Serialize, ToSchema)]
struct HistoryView<'a> {
    /// At most 100, oldest first.
    history: Vec<BoardEntryView<'a>>,
    /// Set if there are older entries.
    history_truncated: bool,
}

impl<'a> HistoryView<'a> {
    fn new(history: &'a History) -> Self {
        Self {
            history: history.entries.iter().map(BoardEntryView::new).collect(),
            history_truncated: history.is_truncated,
        }
    }
}

/// An entry of the history of a task or a goal.
#[derive(Debug, Serialize, ToSchema)]
pub struct BoardEntryView<'a> {
    /// What was done: `created`, `edited`, `status_changed`, `commented`, `dropped`, `cancelled`, `archived`,
    /// `unarchived`, `superseded`, `goal_set`, or `goal_edited`.
    event: &'static str,
    actor: ActorView<'a>,
    #[schema(value_type = super::Instant)]
    at: Shown<Timestamp>,
    /// Values of the event, such as `from` and `to` of a change.
    #[schema(value_type = Object)]
    payload: Map<String, Value>,
}

impl<'a> BoardEntryView<'a> {
    /// Shows `entry`.
    pub fn new(entry: &'a Entry) -> Self {
        let (event, payload) = shown(&entry.action);
        Self { event, actor: ActorView::new(&entry.actor), at: Shown(entry.at), payload }
    }
}

fn shown(action: &BoardAction) -> (&'static str, Map<String, Value>) {
    let moved = |from: &str, to: &str| members([("state", Some(json!({"from": from, "to": to})))]);
    match action {
        BoardAction::Created { subject, detail, supersedes } => {
            let supersedes = supersedes.map(|id| json!(id.to_string()));
            let subject = ("subject", Some(json!(subject)));
            ("created", members([subject, ("detail", Some(json!(detail))), ("supersedes_id", supersedes)]))
        }
        BoardAction::Edited { subject, detail } => {
            let [subject, detail] = [subject, detail].map(|edit| edit.as_ref().map(changed));
            ("edited", members([("subject", subject), ("detail", detail)]))
        }
        BoardAction::StatusChanged { from, to, linked_native_id } => {
            let status = json!({"from": from.map(TaskStatus::as_str), "to": to.as_str()});
            let id = linked_native_id.as_ref().map(|id| json!(id));
            ("status_changed", members([("status", Some(status)), ("linked_native_id", id)]))
        }
        BoardAction::Commented { text } => ("commented", members([("text", Some(json!(text)))])),
        BoardAction::Dropped { reason } => ("dropped", members([("reason", Some(json!(reason.as_str())))])),
        BoardAction::Cancelled => ("cancelled", moved("active", "cancelled")),
        BoardAction::Archived => ("archived", moved("active", "archived")),
        BoardAction::Unarchived => ("unarchived", moved("archived", "active")),
        BoardAction::Superseded { by } => {
            let mut payload = moved("active", "superseded");
            payload.insert("superseded_by_id".to_owned(), json!(by.to_string()));
            ("superseded", payload)
        }
        BoardAction::GoalSet(edits) => ("goal_set", of_goal(edits)),
        BoardAction::GoalEdited(edits) => ("goal_edited", of_goal(edits)),
    }
}

fn of_goal(GoalEdits { title, summary }: &GoalEdits) -> Map<String, Value> {
    let [title, summary] = [title, summary].map(|edit| edit.as_ref().map(changed));
    members([("goal_title", title), ("goal_summary", summary)])
}

fn changed<T: Serialize>(edit: &Edit<T>) -> Value {
    json!({"from": edit.from, "to": edit.to})
}

/// The members that have a value.
fn members<const N: usize>(all: [(&str, Option<Value>); N]) -> Map<String, Value> {
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The number of a room's active tasks with each overall status.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(super) struct TaskCountsView {
    pending: u32,
    in_progress: u32,
    blocked: u32,
    in_review: u32,
    failed: u32,
    completed: u32,
}

impl TaskCountsView {
    pub(super) const fn new(counts: TaskCounts) -> Self {
        let TaskCounts { pending, in_progress, blocked, in_review, failed, completed } = counts;
        Self { pending, in_progress, blocked, in_review, failed, completed }
    }
}
