//! Reading boards, tasks, and their histories.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::board::{Board, EMBEDDED_ENTRIES, Entry, Task, TaskFilter, WhichTask, WithHistory};
use domain::id::{ChatId, ParticipantId};
use domain::page::{Page, PageRequest};

use super::row::{BoardRow, EntryRow, GOAL, TaskRow, page_of_entries, page_of_tasks, with_history};
use crate::chat::load::standing_on;
use crate::error::Fault;
use crate::run::Db;
use crate::schema::{board_entries, boards, tasks};

pub(super) async fn board_on(
    mut db: &Db,
    viewer: ParticipantId,
    chat: ChatId,
    history: bool,
) -> Result<Option<WithHistory<Board>>, Fault> {
    if !standing_on(db, viewer, chat).await?.may_read() {
        return Ok(None);
    }
    let found = boards::table.find(chat.uuid()).select(BoardRow::as_select());
    let found = found.first(&mut db).await.optional()?.map(BoardRow::into_board).transpose()?;
    let newest = if history { Some(newest_on(db, chat, GOAL).await?) } else { None };
    with_history(found.unwrap_or(Board::empty(chat)), newest).map(Some)
}

pub(super) async fn tasks_on(
    mut db: &Db,
    viewer: ParticipantId,
    chat: ChatId,
    filter: TaskFilter,
    page: &PageRequest,
) -> Result<Option<Page<Task>>, Fault> {
    if !standing_on(db, viewer, chat).await?.may_read() {
        return Ok(None);
    }
    let after = page.slice.after().map_or(0, |position| position.key);
    let all = || {
        tasks::table
            .filter(tasks::chat_id.eq(chat.uuid()))
            .filter(tasks::number.gt(after))
            .order(tasks::number)
            .limit(i64::from(page.slice.limit()) + 1)
            .select(TaskRow::as_select())
    };
    let rows = match filter {
        TaskFilter::All => all().load(&mut db).await?,
        TaskFilter::In(state) => all().filter(tasks::state.eq(state.as_str())).load(&mut db).await?,
    };
    page_of_tasks(rows, page).map(Some)
}

pub(super) async fn task_on(
    db: &Db,
    viewer: ParticipantId,
    chat: ChatId,
    task: WhichTask,
    history: bool,
) -> Result<Option<WithHistory<Task>>, Fault> {
    if !standing_on(db, viewer, chat).await?.may_read() {
        return Ok(None);
    }
    let Some(row) = row_on(db, chat, task).await? else { return Ok(None) };
    let newest = if history { Some(newest_on(db, chat, row.number).await?) } else { None };
    with_history(row.into_task()?, newest).map(Some)
}

pub(super) async fn history_on(
    mut db: &Db,
    viewer: ParticipantId,
    chat: ChatId,
    task: WhichTask,
    page: &PageRequest,
) -> Result<Option<Page<Entry>>, Fault> {
    if !standing_on(db, viewer, chat).await?.may_read() {
        return Ok(None);
    }
    let Some(row) = row_on(db, chat, task).await? else { return Ok(None) };
    let after = page.slice.after().map_or(0, |position| position.key);
    let rows = board_entries::table
        .filter(board_entries::chat_id.eq(chat.uuid()))
        .filter(board_entries::task.eq(row.number))
        .filter(board_entries::number.gt(after))
        .order(board_entries::number)
        .limit(i64::from(page.slice.limit()) + 1)
        .select(EntryRow::as_select())
        .load(&mut db)
        .await?;
    page_of_entries(rows, page).map(Some)
}

/// A task of a chat.
async fn row_on(mut db: &Db, chat: ChatId, task: WhichTask) -> Result<Option<TaskRow>, Fault> {
    let all = tasks::table.filter(tasks::chat_id.eq(chat.uuid())).select(TaskRow::as_select());
    let found = match task {
        WhichTask::Id(id) => all.filter(tasks::id.eq(id.uuid())).first(&mut db).await,
        WhichTask::Number(number) => {
            all.filter(tasks::number.eq(i64::from(number.get()))).first(&mut db).await
        }
    };
    Ok(found.optional()?)
}

/// A task of a chat, after locking it.
pub(super) async fn locked_row_on(
    mut db: &Db,
    chat: ChatId,
    task: WhichTask,
) -> Result<Option<TaskRow>, Fault> {
    let all = tasks::table.filter(tasks::chat_id.eq(chat.uuid())).select(TaskRow::as_select());
    let found = match task {
        WhichTask::Id(id) => all.filter(tasks::id.eq(id.uuid())).for_no_key_update().first(&mut db).await,
        WhichTask::Number(number) => {
            let found = all.filter(tasks::number.eq(i64::from(number.get()))).for_no_key_update();
            found.first(&mut db).await
        }
    };
    Ok(found.optional()?)
}

/// The newest entries of a task or of the goal, newest first, with one more than are shown.
async fn newest_on(mut db: &Db, chat: ChatId, task: i64) -> Result<Vec<EntryRow>, Fault> {
    let newest = board_entries::table
        .filter(board_entries::chat_id.eq(chat.uuid()))
        .filter(board_entries::task.eq(task))
        .order(board_entries::number.desc())
        .limit(i64::from(EMBEDDED_ENTRIES) + 1)
        .select(EntryRow::as_select());
    Ok(newest.load(&mut db).await?)
}
