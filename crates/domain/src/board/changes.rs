//! Changes of a task: their order, and which of them are possible.

use super::history::{Actor, BoardAction, Edit, Entry};
use super::task::{Assignment, Task, TaskState, TaskStatus};
use super::text::{ActiveForm, LinkedNativeId, TaskComment, TaskDetail, TaskSubject};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// A state into which a participant can bring a task; one that is superseded gets there only by its replacement.
    TaskTarget {
        /// On the board.
        Active = "active",
        /// Not to be done.
        Cancelled = "cancelled",
        /// Put away.
        Archived = "archived",
    }
}

/// The changes of one call; what is `None` stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TaskChanges {
    /// The caller's status.
    pub status: Option<TaskStatus>,
    /// What the caller is doing.
    pub active_form: Option<ActiveForm>,
    /// The id that the task has in the caller's tools.
    pub linked_native_id: Option<LinkedNativeId>,
    /// A comment.
    pub comment: Option<TaskComment>,
    /// The new subject.
    pub subject: Option<TaskSubject>,
    /// The new detail.
    pub detail: Option<TaskDetail>,
    /// The new state.
    pub state: Option<TaskTarget>,
}

/// The reason why a task was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TaskRefused {
    /// Only an active task can be worked on, edited, or commented on.
    #[error("the task is not active")]
    NotActive,
    /// The state does not lead to the requested one.
    #[error("a task that is {} cannot become {}", from.as_str(), to.as_str())]
    InvalidTransition {
        /// The state.
        from: TaskState,
        /// The requested one.
        to: TaskTarget,
    },
}

impl TaskChanges {
    /// Returns whether it changes nothing on its own, so that a request without it is rejected as an empty one.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn has_work(&self) -> bool {
        self.status.is_some() || self.active_form.is_some() || self.linked_native_id.is_some()
    }

    fn needs_active_task(&self) -> bool {
        self.has_work() || self.comment.is_some() || self.subject.is_some() || self.detail.is_some()
    }
}

/// A changed task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Applied {
    pub(crate) task: Task,
    /// What is added to the history, in order.
    pub(crate) entries: Vec<Entry>,
    /// Set unless everything is as it was, but for the time of a report.
    pub(crate) has_changed: bool,
}

impl Task {
    /// Makes the changes, all or none: restores the task, edits it, reports the actor's work, adds the comment, and
    /// takes the task from the board, in this order.
    pub(crate) fn changed(
        mut self,
        changes: &TaskChanges,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<Applied, TaskRefused> {
        let now = now.max(self.updated_at);
        let mut actions = Vec::new();
        let before = self.clone();
        if changes.state == Some(TaskTarget::Active) {
            actions.extend(self.move_to(TaskTarget::Active)?);
        }
        if changes.needs_active_task() && self.state != TaskState::Active {
            return Err(TaskRefused::NotActive);
        }
        actions.extend(self.edit(changes));
        if changes.has_work() {
            actions.extend(self.report(changes, actor, now));
        }
        if let Some(comment) = &changes.comment {
            actions.push(BoardAction::Commented { text: comment.as_str().to_owned() });
        }
        if let Some(target @ (TaskTarget::Cancelled | TaskTarget::Archived)) = changes.state {
            actions.extend(self.move_to(target)?);
        }
        let has_changed = !actions.is_empty() || !self.reports_like(&before);
        if has_changed {
            self.updated_at = now;
        }
        let entry = |action| Entry { at: now, actor: actor.clone(), action };
        Ok(Applied { task: self, entries: actions.into_iter().map(entry).collect(), has_changed })
    }

    /// A step that changes nothing is possible, so that a repeated call has the same answer.
    fn move_to(&mut self, target: TaskTarget) -> Result<Option<BoardAction>, TaskRefused> {
        let (state, action) = match (self.state, target) {
            (TaskState::Active, TaskTarget::Active)
            | (TaskState::Cancelled, TaskTarget::Cancelled)
            | (TaskState::Archived, TaskTarget::Archived) => return Ok(None),
            (TaskState::Active, TaskTarget::Cancelled) => (TaskState::Cancelled, BoardAction::Cancelled),
            (TaskState::Active, TaskTarget::Archived) => (TaskState::Archived, BoardAction::Archived),
            (TaskState::Archived, TaskTarget::Active) => (TaskState::Active, BoardAction::Unarchived),
            (from, to) => return Err(TaskRefused::InvalidTransition { from, to }),
        };
        self.state = state;
        Ok(Some(action))
    }

    fn edit(&mut self, changes: &TaskChanges) -> Option<BoardAction> {
        let subject = changes.subject.clone().map(TaskSubject::into_string);
        let detail = changes.detail.clone().map(TaskDetail::into_string);
        let subject = subject.and_then(|to| Edit::set(&mut self.subject, to));
        let detail = detail.and_then(|to| Edit::set(&mut self.detail, to));
        (subject.is_some() || detail.is_some()).then_some(BoardAction::Edited { subject, detail })
    }

    /// The first report joins the task. A first report that says what the actor is doing, but no status, implies
    /// `in_progress`.
    fn report(&mut self, changes: &TaskChanges, actor: &Actor, now: Timestamp) -> Option<BoardAction> {
        let active_form = changes.active_form.as_ref().map(|form| form.as_str().to_owned());
        let linked = changes.linked_native_id.as_ref().map(|id| id.as_str().to_owned());
        let (from, to, is_linked) = if let Some(own) = self.assignment_of(actor.id) {
            let from = own.status;
            own.status = changes.status.unwrap_or(from);
            own.updated_at = now;
            if let Some(form) = active_form {
                own.active_form = form;
            }
            let is_linked = linked.as_ref().is_some_and(|id| *id != own.linked_native_id);
            if let Some(id) = &linked {
                own.linked_native_id.clone_from(id);
            }
            (Some(from), own.status, is_linked)
        } else {
            let is_busy = active_form.as_ref().is_some_and(|form| !form.is_empty());
            let implied = if is_busy { TaskStatus::InProgress } else { TaskStatus::Pending };
            let status = changes.status.unwrap_or(implied);
            self.assignments.push(Assignment {
                assignee: actor.clone(),
                status,
                active_form: active_form.unwrap_or_default(),
                linked_native_id: linked.clone().unwrap_or_default(),
                updated_at: now,
            });
            (None, status, true)
        };
        self.roll_up(now);
        let is_told = from != Some(to) || is_linked;
        is_told.then_some(BoardAction::StatusChanged { from, to, linked_native_id: linked })
    }

    /// Returns whether the assignees do what they did in `other`.
    fn reports_like(&self, other: &Self) -> bool {
        self.assignments
            .iter()
            .map(|own| &own.active_form)
            .eq(other.assignments.iter().map(|own| &own.active_form))
    }
}
