//! Reading boards, tasks, and their histories.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::board::{Board, EMBEDDED_ENTRIES, Entry, Task, TaskFilter, WhichTask, WithHistory};
use domain::id::{ChatId, ParticipantId};
use domain::page::{Page, PageRequest};

use super::row::{BoardRow, EntryRow, GOAL, TaskRow, page_of_entries, page_of_tasks, with_history};
use crate::chat::load::standing_on;
use crate::error::Fault;
use crate::row::Id;
use crate::schema::{board_entries, boards, tasks};

pub(super) fn board_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
    history: bool,
) -> Result<Option<WithHistory<Board>>, Fault> {
    if !standing_on(connection, viewer, chat)?.may_read() {
        return Ok(None);
    }
    let found = boards::table.find(Id(chat.uuid())).select(BoardRow::as_select());
    let found = found.get_result(connection).optional()?.map(BoardRow::into_board).transpose()?;
    let newest = history.then(|| newest_on(connection, chat, GOAL)).transpose()?;
    with_history(found.unwrap_or(Board::empty(chat)), newest).map(Some)
}

pub(super) fn tasks_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
    filter: TaskFilter,
    page: &PageRequest,
) -> Result<Option<Page<Task>>, Fault> {
    if !standing_on(connection, viewer, chat)?.may_read() {
        return Ok(None);
    }
    let after = page.slice.after().map_or(0, |position| position.key);
    let all = || {
        tasks::table
            .filter(tasks::chat_id.eq(Id(chat.uuid())))
            .filter(tasks::number.gt(after))
            .order(tasks::number)
            .limit(i64::from(page.slice.limit()) + 1)
            .select(TaskRow::as_select())
    };
    let rows = match filter {
        TaskFilter::All => all().load(connection)?,
        TaskFilter::In(state) => all().filter(tasks::state.eq(state.as_str())).load(connection)?,
    };
    page_of_tasks(rows, page).map(Some)
}

pub(super) fn task_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
    task: WhichTask,
    history: bool,
) -> Result<Option<WithHistory<Task>>, Fault> {
    if !standing_on(connection, viewer, chat)?.may_read() {
        return Ok(None);
    }
    let Some(row) = row_on(connection, chat, task)? else { return Ok(None) };
    let newest = history.then(|| newest_on(connection, chat, row.number)).transpose()?;
    with_history(row.into_task()?, newest).map(Some)
}

pub(super) fn history_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
    task: WhichTask,
    page: &PageRequest,
) -> Result<Option<Page<Entry>>, Fault> {
    if !standing_on(connection, viewer, chat)?.may_read() {
        return Ok(None);
    }
    let Some(row) = row_on(connection, chat, task)? else { return Ok(None) };
    let after = page.slice.after().map_or(0, |position| position.key);
    let rows = board_entries::table
        .filter(board_entries::chat_id.eq(Id(chat.uuid())))
        .filter(board_entries::task.eq(row.number))
        .filter(board_entries::number.gt(after))
        .order(board_entries::number)
        .limit(i64::from(page.slice.limit()) + 1)
        .select(EntryRow::as_select())
        .load(connection)?;
    page_of_entries(rows, page).map(Some)
}

/// A task of a chat.
pub(super) fn row_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    task: WhichTask,
) -> Result<Option<TaskRow>, Fault> {
    let all = tasks::table.filter(tasks::chat_id.eq(Id(chat.uuid()))).select(TaskRow::as_select());
    let found = match task {
        WhichTask::Id(id) => all.filter(tasks::id.eq(Id(id.uuid()))).get_result(connection),
        WhichTask::Number(number) => {
            all.filter(tasks::number.eq(i64::from(number.get()))).get_result(connection)
        }
    };
    Ok(found.optional()?)
}

/// The newest entries of a task or of the goal, newest first, with one more than are shown.
fn newest_on(connection: &mut SqliteConnection, chat: ChatId, task: i64) -> Result<Vec<EntryRow>, Fault> {
    Ok(board_entries::table
        .filter(board_entries::chat_id.eq(Id(chat.uuid())))
        .filter(board_entries::task.eq(task))
        .order(board_entries::number.desc())
        .limit(i64::from(EMBEDDED_ENTRIES) + 1)
        .select(EntryRow::as_select())
        .load(connection)?)
}
