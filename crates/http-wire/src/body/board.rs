//! Bodies of changes of boards and tasks. They have no wrappers.

use domain::board::{
    ActiveForm, CreateTask, GoalChanges, GoalSummary, GoalTitle, LinkedNativeId, TaskChanges, TaskComment,
    TaskDetail, TaskStatus, TaskSubject, TaskTarget, WhichTask,
};

use crate::openapi::schema::{some_text, text, word};
use crate::strict_json::{FromBody, ObjectReader, Rejected, known};

/// The fault of a change that changes nothing.
const NOTHING: &str = "at least one field is required";

/// The error for an id that does not name a task of the room.
pub(crate) const NOT_A_TASK: &str = "must be the id or number of a task in this room, as a string";

/// `POST …/tasks`.
#[derive(Clone, Debug)]
pub struct CreateTaskBody(pub CreateTask);

impl FromBody for CreateTaskBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let subject = body.text("subject", some_text(TaskSubject::MAX_CHARS), TaskSubject::new);
        let detail = body.optional_text("detail", text().max(TaskDetail::MAX_CHARS), TaskDetail::new);
        let supersedes = body.optional_text(
            "supersedes_id",
            text().about("Id or number of an active task of the room, which the new one replaces."),
            |text| WhichTask::parse(&text).ok_or(NOT_A_TASK),
        );
        let (subject, detail) = (subject?, detail?.unwrap_or_default());
        Ok(Self(CreateTask { subject, detail, supersedes: supersedes? }))
    }
}

/// `POST …/tasks/{task_id}`: the changes; at least one is required.
#[derive(Clone, Debug)]
pub struct ChangeTaskBody(pub TaskChanges);

impl FromBody for ChangeTaskBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        body.describe_as_never_empty();
        let status = body.optional_text(
            "status",
            word(TaskStatus::WORDS)
                .about("The caller's own status. The first one makes the caller an assignee."),
            known(TaskStatus::parse),
        );
        let active_form = body.optional_text(
            "active_form",
            text().max(ActiveForm::MAX_CHARS).about("What the caller is doing, as a short sentence."),
            ActiveForm::new,
        );
        let linked_native_id = body.optional_text(
            "linked_native_id",
            text().max(LinkedNativeId::MAX_CHARS).about("The id of the task in the caller's own tools."),
            LinkedNativeId::new,
        );
        let comment = body.optional_text("comment", some_text(TaskComment::MAX_CHARS), TaskComment::new);
        let subject = body.optional_text("subject", some_text(TaskSubject::MAX_CHARS), TaskSubject::new);
        let detail = body.optional_text("detail", text().max(TaskDetail::MAX_CHARS), TaskDetail::new);
        let state = body.optional_text(
            "state",
            word(TaskTarget::WORDS).about("`active` brings an archived task back."),
            known(TaskTarget::parse),
        );
        let changes = TaskChanges {
            status: status?,
            active_form: active_form?,
            linked_native_id: linked_native_id?,
            comment: comment?,
            subject: subject?,
            detail: detail?,
            state: state?,
        };
        if changes.is_empty() { Err(body.fault("", NOTHING)) } else { Ok(Self(changes)) }
    }
}

/// `PUT …/board`: the parts of the goal that change; at least one is required.
#[derive(Clone, Debug)]
pub struct SetGoalBody(pub GoalChanges);

impl FromBody for SetGoalBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        body.describe_as_never_empty();
        let title = body.optional_text("goal_title", some_text(GoalTitle::MAX_CHARS), GoalTitle::new);
        let summary = body.optional_text(
            "goal_summary",
            text().max(GoalSummary::MAX_CHARS).about("An empty text removes the summary."),
            GoalSummary::new,
        );
        let changes = GoalChanges { title: title?, summary: summary? };
        if changes == GoalChanges::default() { Err(body.fault("", NOTHING)) } else { Ok(Self(changes)) }
    }
}
