//! Cleans up boards when a participant leaves or a chat is deleted.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::board::{Actor, DropReason, Task, TaskState};
use domain::id::ChatId;
use domain::time::Timestamp;

use super::change::save_on;
use super::row::{TaskRow, with_assignee};
use crate::error::Fault;
use crate::row::Id;
use crate::schema::{boards, participants, tasks};

/// Drops the open assignments of a participant that has left this chat, or all its chats, at `now`; returns the tasks.
pub(crate) fn drop_on(
    connection: &mut SqliteConnection,
    actor: &Actor,
    chat: Option<ChatId>,
    reason: DropReason,
    now: Timestamp,
) -> Result<Vec<Task>, Fault> {
    let open = || {
        tasks::table
            .filter(tasks::state.eq(TaskState::Active.as_str()))
            .filter(tasks::assignments.like(with_assignee(actor.id)))
            .order((tasks::chat_id, tasks::number))
            .select(TaskRow::as_select())
    };
    let rows = if let Some(chat) = chat {
        open().filter(tasks::chat_id.eq(Id(chat.uuid()))).load(connection)?
    } else {
        let chats = participants::table
            .filter(participants::participant_id.eq(Id(actor.id.uuid())))
            .filter(participants::left_at.eq(now.micros()))
            .select(participants::chat_id);
        open().filter(tasks::chat_id.eq_any(chats)).load(connection)?
    };
    let mut dropped = Vec::new();
    for row in rows {
        let last_entry = row.last_entry;
        let mut task = row.into_task()?;
        let counted = task.counted();
        if let Some(entry) = task.drop_assignee(actor, reason, now) {
            save_on(connection, &task, counted, last_entry, &[entry])?;
            dropped.push(task);
        }
    }
    Ok(dropped)
}

/// Marks the board of a deleted chat to be erased.
pub(crate) fn mark_on(connection: &mut SqliteConnection, chat: ChatId, now: Timestamp) -> Result<(), Fault> {
    let board = diesel::update(boards::table.find(Id(chat.uuid())));
    board.set(boards::deleted_at.eq(now.micros())).execute(connection)?;
    Ok(())
}

/// Erases some entries of a chat. The values are the chat and the limit.
const ERASE_ENTRIES: &str = "DELETE FROM board_entries WHERE rowid IN (\
     SELECT rowid FROM board_entries WHERE chat_id = ? ORDER BY task, number LIMIT ?)";

/// Erases some tasks of a chat. The values are those of [`ERASE_ENTRIES`].
const ERASE_TASKS: &str =
    "DELETE FROM tasks WHERE rowid IN (SELECT rowid FROM tasks WHERE chat_id = ? ORDER BY number LIMIT ?)";

pub(super) fn erase_deleted_on(connection: &mut SqliteConnection, limit: u32) -> Result<bool, Fault> {
    let marked = boards::table.filter(boards::deleted_at.is_not_null());
    let marked = marked.order((boards::deleted_at, boards::chat_id)).select(boards::chat_id);
    let Some(chat) = marked.first::<Id>(connection).optional()? else { return Ok(false) };
    for erase in [ERASE_ENTRIES, ERASE_TASKS] {
        let erase = diesel::sql_query(erase).bind::<Binary, _>(chat).bind::<BigInt, _>(i64::from(limit));
        if erase.execute(connection)? > 0 {
            return Ok(true);
        }
    }
    diesel::delete(boards::table.find(chat)).execute(connection)?;
    Ok(true)
}
