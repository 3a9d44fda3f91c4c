//! Boards, tasks, and their histories as rows. Compiled into each store, whose tables it names.

use diesel::prelude::*;
use domain::board::{
    Actor, Board, EMBEDDED_ENTRIES, Entry, History, Task, TaskNumber, TaskState, TaskStatus, WithHistory,
};
use domain::id::{BoardTaskId, ChatId, ParticipantId};
use domain::page::{PAGE_BYTES, Page, PageRequest, Position, fitting, weight};

use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::{board_entries, boards, tasks};

/// The number of the goal among the tasks of [`EntryRow`].
pub(crate) const GOAL: i64 = 0;

/// Adds to the counts of a chat. The values are those of [`TaskCounts::moved`](domain::board::TaskCounts::moved), and the
/// chat.
pub(crate) const COUNT: &str = "UPDATE boards SET pending = pending + ?, in_progress = in_progress + ?, \
     blocked = blocked + ?, in_review = in_review + ?, failed = failed + ?, completed = completed + ? \
     WHERE chat_id = ?";

/// The counts of a chat, in the order of [`TaskCounts::of`](domain::board::TaskCounts::of).
pub(crate) const COUNT_COLUMNS: &str = "pending, in_progress, blocked, in_review, failed, completed";

/// The approximate size of a task in an answer, without texts.
const TASK_BYTES: usize = 800;

/// The approximate size of an entry in an answer, without its action.
const ENTRY_BYTES: usize = 300;

/// The goal of a chat, and its last numbers.
#[derive(Queryable, Selectable, AsChangeset)]
#[diesel(table_name = boards, primary_key(chat_id), treat_none_as_null = true)]
pub(crate) struct BoardRow {
    chat_id: Id,
    title: Option<String>,
    summary: Option<String>,
    created_by: Option<String>,
    updated_by: Option<String>,
    created_at: Option<At>,
    updated_at: Option<At>,
    pub(crate) last_task: i64,
    pub(crate) last_entry: i64,
}

impl BoardRow {
    pub(crate) fn of(board: &Board, last_task: i64, last_entry: i64) -> Result<Self, Fault> {
        Ok(Self {
            chat_id: Id(board.chat.uuid()),
            title: board.title.clone(),
            summary: board.summary.clone(),
            created_by: board.created_by.as_ref().map(row::to_json).transpose()?,
            updated_by: board.updated_by.as_ref().map(row::to_json).transpose()?,
            created_at: board.created_at.map(At),
            updated_at: board.updated_at.map(At),
            last_task,
            last_entry,
        })
    }

    pub(crate) fn into_board(self) -> Result<Board, Fault> {
        Ok(Board {
            chat: ChatId::new(self.chat_id.0),
            title: self.title,
            summary: self.summary,
            created_by: self.created_by.as_deref().map(row::json).transpose()?,
            updated_by: self.updated_by.as_deref().map(row::json).transpose()?,
            created_at: self.created_at.map(|at| at.0),
            updated_at: self.updated_at.map(|at| at.0),
        })
    }
}

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = tasks, primary_key(chat_id, number), treat_none_as_null = true)]
pub(crate) struct TaskRow {
    pub(crate) chat_id: Id,
    pub(crate) number: i64,
    id: Id,
    state: String,
    status: String,
    created_at: At,
    updated_at: At,
    started_at: Option<At>,
    completed_at: Option<At>,
    superseded_by: Option<Id>,
    pub(crate) last_entry: i64,
    created_by: String,
    assignments: String,
    subject: String,
    detail: String,
}

impl TaskRow {
    pub(crate) fn of(task: &Task, last_entry: i64) -> Result<Self, Fault> {
        Ok(Self {
            chat_id: Id(task.chat.uuid()),
            number: task.number.get().into(),
            id: Id(task.id.uuid()),
            state: task.state.as_str().to_owned(),
            status: task.status.as_str().to_owned(),
            created_at: At(task.created_at),
            updated_at: At(task.updated_at),
            started_at: task.started_at.map(At),
            completed_at: task.completed_at.map(At),
            superseded_by: task.superseded_by.map(|id| Id(id.uuid())),
            last_entry,
            created_by: row::to_json(&task.created_by)?,
            assignments: row::to_json(&task.assignments)?,
            subject: task.subject.clone(),
            detail: task.detail.clone(),
        })
    }

    /// The approximate size in an answer. The assignments are JSON already.
    fn weight(&self) -> usize {
        TASK_BYTES + self.assignments.len() + weight::of_text(&self.subject) + weight::of_text(&self.detail)
    }

    pub(crate) fn into_task(self) -> Result<Task, Fault> {
        Ok(Task {
            id: BoardTaskId::new(self.id.0),
            chat: ChatId::new(self.chat_id.0),
            number: number(self.number)?,
            subject: self.subject,
            detail: self.detail,
            state: row::word(&self.state, TaskState::parse)?,
            status: row::word(&self.status, TaskStatus::parse)?,
            assignments: row::json(&self.assignments)?,
            created_by: row::json(&self.created_by)?,
            superseded_by: self.superseded_by.map(|id| BoardTaskId::new(id.0)),
            started_at: self.started_at.map(|at| at.0),
            completed_at: self.completed_at.map(|at| at.0),
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
        })
    }
}

/// The number of a task.
pub(crate) fn number(column: i64) -> Result<TaskNumber, Fault> {
    let number = u32::try_from(column).map_err(|_| Fault::Row(format!("a task with the number {column}")))?;
    Ok(TaskNumber::new(number))
}

/// A pattern for the assignments that may have this assignee.
pub(crate) fn with_assignee(who: ParticipantId) -> String {
    format!("%{}%", who.uuid().simple())
}

/// An entry of a history.
#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = board_entries)]
pub(crate) struct EntryRow {
    chat_id: Id,
    task: i64,
    number: i64,
    at: At,
    actor: String,
    action: String,
}

impl EntryRow {
    /// The rows of entries that follow the one with the number `last`.
    pub(crate) fn after(last: i64, chat: ChatId, task: i64, entries: &[Entry]) -> Result<Vec<Self>, Fault> {
        let row = |(number, entry): (i64, &Entry)| {
            let (actor, action) = (row::to_json(&entry.actor)?, row::to_json(&entry.action)?);
            Ok(Self { chat_id: Id(chat.uuid()), task, number, at: At(entry.at), actor, action })
        };
        (last + 1..).zip(entries).map(row).collect()
    }

    /// The approximate size in an answer. Actor and action are JSON already.
    fn weight(&self) -> usize {
        ENTRY_BYTES + self.actor.len() + self.action.len()
    }

    pub(crate) fn into_entry(self) -> Result<Entry, Fault> {
        let actor = row::json::<Actor>(&self.actor)?;
        Ok(Entry { at: self.at.0, actor, action: row::json(&self.action)? })
    }
}

/// A page of tasks, made of the rows of the list from its beginning, and one more.
pub(crate) fn page_of_tasks(mut rows: Vec<TaskRow>, page: &PageRequest) -> Result<Page<Task>, Fault> {
    let more = cut(&mut rows, page.slice.limit(), page.max_bytes(), TaskRow::weight);
    let rows = rows.into_iter().map(TaskRow::into_task).collect::<Result<Vec<_>, _>>()?;
    Ok(Page::part(rows, more, None, Task::position))
}

/// A page of entries, made of the rows of the list from its beginning, and one more.
pub(crate) fn page_of_entries(mut rows: Vec<EntryRow>, page: &PageRequest) -> Result<Page<Entry>, Fault> {
    let more = cut(&mut rows, page.slice.limit(), page.max_bytes(), EntryRow::weight);
    let last = rows.last().filter(|_| more).map(|row| row.number);
    let next = last.map(|number| Position::at(number, domain::id::RecordId::NIL));
    let rows = rows.into_iter().map(EntryRow::into_entry).collect::<Result<_, _>>()?;
    Ok(Page { rows, next, total: None })
}

/// Keeps the first rows, within a limit of rows and one of bytes, and returns whether there were more.
fn cut<T>(rows: &mut Vec<T>, limit: u32, bytes: usize, weight: impl Fn(&T) -> usize) -> bool {
    let found = rows.len();
    rows.truncate(limit as usize);
    rows.truncate(fitting(bytes, rows.iter().map(weight)));
    rows.len() < found
}

/// A record with its newest entries, newest first and one more than are shown, if they were requested.
pub(crate) fn with_history<T>(record: T, newest: Option<Vec<EntryRow>>) -> Result<WithHistory<T>, Fault> {
    let Some(mut rows) = newest else { return Ok(WithHistory { record, history: None }) };
    let is_truncated = cut(&mut rows, EMBEDDED_ENTRIES, PAGE_BYTES, EntryRow::weight);
    let entries = rows.into_iter().map(EntryRow::into_entry).collect::<Result<_, _>>()?;
    Ok(WithHistory { record, history: Some(History::of_newest(entries, is_truncated)) })
}
