//! Setting goals, and creating and changing tasks.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::board::{
    Actor, Board, ChangeTask, ChangeTaskRefused, ChangedTask, CreateTaskRefused, CreatedTask, Entry, NewTask,
    SetGoal, SetGoalRefused, Task, TaskCounts, TaskStatus,
};
use domain::caller::Caller;
use domain::id::ChatId;
use domain::idempotency::Verdict;

use super::read::row_on;
use super::row::{BoardRow, COUNT, EntryRow, GOAL, TaskRow, number};
use crate::chat::load::participants_on;
use crate::error::Fault;
use crate::idempotency_record;
use crate::row::Id;
use crate::schema::{board_entries, boards, tasks};
use crate::statement::statement;

/// The goal after the command, and whether that changed it; `Err` if the caller is no participant.
pub(super) fn set_goal_on(
    connection: &mut SqliteConnection,
    command: &SetGoal,
) -> Result<Result<(Board, bool), SetGoalRefused>, Fault> {
    let Some(actor) = actor_on(connection, command.by, command.chat)? else {
        return Ok(Err(SetGoalRefused::NotFound));
    };
    let row = board_on(connection, command.chat)?;
    let (last_task, last_entry) = (row.last_task, row.last_entry);
    let mut board = row.into_board()?;
    let entry = match board.set_goal(&command.changes, actor, command.now) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Ok(Ok((board, false))),
        Err(empty) => return Ok(Err(SetGoalRefused::Empty(empty))),
    };
    diesel::update(boards::table.find(Id(command.chat.uuid())))
        .set(BoardRow::of(&board, last_task, last_entry + 1)?)
        .execute(connection)?;
    record_on(connection, command.chat, GOAL, last_entry, &[entry])?;
    Ok(Ok((board, true)))
}

pub(super) fn create_task_on(
    connection: &mut SqliteConnection,
    new: NewTask,
) -> Result<Result<CreatedTask, CreateTaskRefused>, Fault> {
    let (chat, now) = (new.chat, new.now);
    let Some(actor) = actor_on(connection, new.by, chat)? else {
        return Ok(Err(CreateTaskRefused::NotFound));
    };
    if let Some(keyed) = &new.keyed {
        match idempotency_record::judge_on(connection, keyed)? {
            Verdict::First => idempotency_record::remember_on(connection, keyed, new.id.into(), now)?,
            Verdict::Repeated(first) => return Ok(Err(CreateTaskRefused::Repeated(first))),
            Verdict::KeyReused => return Ok(Err(CreateTaskRefused::KeyReused)),
        }
    }
    let mut superseded = None;
    if let Some(which) = new.supersedes {
        let Some(row) = row_on(connection, chat, which)? else {
            return Ok(Err(CreateTaskRefused::SupersededNotFound));
        };
        let last_entry = row.last_entry;
        let mut old = row.into_task()?;
        let counted = old.counted();
        let Some(entry) = old.supersede(new.id, actor.clone(), now) else {
            return Ok(Err(CreateTaskRefused::SupersededNotActive));
        };
        save_on(connection, &old, counted, last_entry, &[entry])?;
        superseded = Some(old);
    }
    let board = board_on(connection, chat)?;
    if board.last_task >= i64::from(new.max_tasks) {
        return Ok(Err(CreateTaskRefused::Full { limit: new.max_tasks }));
    }
    let next = board.last_task + 1;
    diesel::update(boards::table.find(Id(chat.uuid())))
        .set(boards::last_task.eq(next))
        .execute(connection)?;
    let (task, entry) = new.into_task(number(next)?, actor, superseded.as_ref().map(|old| old.id));
    diesel::insert_into(tasks::table).values(TaskRow::of(&task, 1)?).execute(connection)?;
    record_on(connection, chat, next, 0, &[entry])?;
    count_on(connection, &task, None)?;
    Ok(Ok(CreatedTask { task, superseded }))
}

pub(super) fn change_task_on(
    connection: &mut SqliteConnection,
    command: &ChangeTask,
) -> Result<Result<ChangedTask, ChangeTaskRefused>, Fault> {
    let Some(actor) = actor_on(connection, command.by, command.chat)? else {
        return Ok(Err(ChangeTaskRefused::NotFound));
    };
    let Some(row) = row_on(connection, command.chat, command.task)? else {
        return Ok(Err(ChangeTaskRefused::NotFound));
    };
    let last_entry = row.last_entry;
    let task = row.into_task()?;
    let counted = task.counted();
    let changed = match command.decide(task, &actor) {
        Ok(changed) => changed,
        Err(refused) => return Ok(Err(ChangeTaskRefused::Refused(refused))),
    };
    save_on(connection, &changed.task, counted, last_entry, &changed.entries)?;
    Ok(Ok(changed))
}

/// Writes a changed task with its new entries; before, the chat counted it as `counted`.
pub(super) fn save_on(
    connection: &mut SqliteConnection,
    task: &Task,
    counted: Option<TaskStatus>,
    last_entry: i64,
    entries: &[Entry],
) -> Result<(), Fault> {
    let number = i64::from(task.number.get());
    let row = TaskRow::of(task, last_entry.saturating_add_unsigned(entries.len() as u64))?;
    diesel::update(tasks::table.find((Id(task.chat.uuid()), number))).set(row).execute(connection)?;
    record_on(connection, task.chat, number, last_entry, entries)?;
    count_on(connection, task, counted)
}

/// Adds entries to the history of a task or of the goal.
fn record_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    task: i64,
    last_entry: i64,
    entries: &[Entry],
) -> Result<(), Fault> {
    // One by one: diesel would begin a transaction for several.
    for row in EntryRow::after(last_entry, chat, task, entries)? {
        diesel::insert_into(board_entries::table).values(row).execute(connection)?;
    }
    Ok(())
}

/// Moves the counts of a task's chat; before, the chat counted it as `counted`.
fn count_on(
    connection: &mut SqliteConnection,
    task: &Task,
    counted: Option<TaskStatus>,
) -> Result<(), Fault> {
    let Some([pending, in_progress, blocked, in_review, failed, completed]) =
        TaskCounts::moved(counted, task.counted())
    else {
        return Ok(());
    };
    statement!(COUNT)
        .bind::<BigInt, _>(pending)
        .bind::<BigInt, _>(in_progress)
        .bind::<BigInt, _>(blocked)
        .bind::<BigInt, _>(in_review)
        .bind::<BigInt, _>(failed)
        .bind::<BigInt, _>(completed)
        .bind::<Binary, _>(Id(task.chat.uuid()))
        .execute(connection)?;
    Ok(())
}

/// The caller under its present names, if it is a participant of the chat.
fn actor_on(connection: &mut SqliteConnection, by: Caller, chat: ChatId) -> Result<Option<Actor>, Fault> {
    let found = participants_on(connection, chat, Some(by.participant().into()))?.pop();
    Ok(found.map(Actor::from))
}

/// The row of a chat's board, which is written if it is missing.
fn board_on(connection: &mut SqliteConnection, chat: ChatId) -> Result<BoardRow, Fault> {
    let id = Id(chat.uuid());
    diesel::insert_or_ignore_into(boards::table).values(boards::chat_id.eq(id)).execute(connection)?;
    Ok(boards::table.find(id).select(BoardRow::as_select()).get_result(connection)?)
}
