//! Cleans up boards when a participant leaves or a chat is deleted.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::board::{Actor, DropReason, Task, TaskState};
use domain::id::ChatId;
use domain::time::Timestamp;
use uuid::Uuid;

use super::change::save_on;
use super::row::{TaskRow, with_assignee};
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::{boards, participants, tasks};
use crate::statement::statement;

/// Drops the open assignments of a participant that has left this chat, or all its chats, at `now`; returns the tasks. The
/// memberships must have ended before.
pub(crate) async fn drop_on(
    mut db: &Db,
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
        open().filter(tasks::chat_id.eq(chat.uuid())).for_no_key_update().load(&mut db).await?
    } else {
        let chats = participants::table
            .filter(participants::participant_id.eq(actor.id.uuid()))
            .filter(participants::left_at.eq(At(now)))
            .select(participants::chat_id);
        open().filter(tasks::chat_id.eq_any(chats)).for_no_key_update().load(&mut db).await?
    };
    let mut dropped = Vec::new();
    for row in rows {
        let last_entry = row.last_entry;
        let mut task = row.into_task()?;
        let counted = task.counted();
        if let Some(entry) = task.drop_assignee(actor, reason, now) {
            save_on(db, &task, counted, last_entry, &[entry]).await?;
            dropped.push(task);
        }
    }
    Ok(dropped)
}

/// Marks the board of a deleted chat, whose participants have been removed, to be erased.
pub(crate) async fn mark_on(mut db: &Db, chat: ChatId, now: Timestamp) -> Result<(), Fault> {
    let board = diesel::update(boards::table.find(chat.uuid()));
    board.set(boards::deleted_at.eq(At(now))).execute(&mut db).await?;
    Ok(())
}

/// Of the marked boards that no other process is erasing, the one marked first.
const NEXT: &str = "SELECT chat_id FROM boards WHERE deleted_at IS NOT NULL ORDER BY deleted_at, chat_id LIMIT 1 \
     FOR UPDATE SKIP LOCKED";

/// Erases some entries of a chat. The values are the chat, twice, and the limit.
const ERASE_ENTRIES: &str = "DELETE FROM board_entries WHERE chat_id = ? AND ctid = ANY (ARRAY(\
     SELECT ctid FROM board_entries WHERE chat_id = ? ORDER BY task, number LIMIT ?))";

/// Erases some tasks of a chat. The values are those of [`ERASE_ENTRIES`].
const ERASE_TASKS: &str = "DELETE FROM tasks WHERE chat_id = ? AND ctid = ANY (ARRAY(\
     SELECT ctid FROM tasks WHERE chat_id = ? ORDER BY number LIMIT ?))";

pub(super) async fn erase_deleted_on(mut db: &Db, limit: u32) -> Result<bool, Fault> {
    let next = statement::<SqlUuid>(NEXT).get_result::<Uuid>(&mut db).await.optional()?;
    let Some(chat) = next else { return Ok(false) };
    for erase in [ERASE_ENTRIES, ERASE_TASKS] {
        let erase = statement::<()>(erase).bind::<SqlUuid, _>(chat).bind::<SqlUuid, _>(chat);
        if erase.bind::<BigInt, _>(i64::from(limit)).execute(&mut db).await? > 0 {
            return Ok(true);
        }
    }
    diesel::delete(boards::table.find(chat)).execute(&mut db).await?;
    Ok(true)
}
