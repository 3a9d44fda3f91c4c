//! Setting goals, and creating and changing tasks.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::board::{
    Actor, Board, ChangeTask, ChangeTaskRefused, ChangedTask, CreateTaskRefused, CreatedTask, Entry, NewTask,
    SetGoal, SetGoalRefused, Task, TaskCounts, TaskStatus,
};
use domain::caller::Caller;
use domain::id::ChatId;
use domain::idempotency::Verdict;
use futures_util::future::{try_join, try_join3};

use super::read::locked_row_on;
use super::row::{BoardRow, COUNT, EntryRow, GOAL, TaskRow, number};
use crate::chat::load::participants_on;
use crate::error::Fault;
use crate::idempotency_record;
use crate::lock;
use crate::run::Db;
use crate::schema::{board_entries, boards, tasks};
use crate::statement::statement;

/// The goal after the command, and whether that changed it; `Err` if the caller is no participant.
pub(super) async fn set_goal_on(
    mut db: &Db,
    command: &SetGoal,
) -> Result<Result<(Board, bool), SetGoalRefused>, Fault> {
    let Some(actor) = actor_on(db, command.by, command.chat).await? else {
        return Ok(Err(SetGoalRefused::NotFound));
    };
    let row = locked_board_on(db, command.chat).await?;
    let (last_task, last_entry) = (row.last_task, row.last_entry);
    let mut board = row.into_board()?;
    let entry = match board.set_goal(&command.changes, actor, command.now) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Ok(Ok((board, false))),
        Err(empty) => return Ok(Err(SetGoalRefused::Empty(empty))),
    };
    diesel::update(boards::table.find(command.chat.uuid()))
        .set(BoardRow::of(&board, last_task, last_entry + 1)?)
        .execute(&mut db)
        .await?;
    record_on(db, command.chat, GOAL, last_entry, &[entry]).await?;
    Ok(Ok((board, true)))
}

pub(super) async fn create_task_on(
    mut db: &Db,
    new: &NewTask,
) -> Result<Result<CreatedTask, CreateTaskRefused>, Fault> {
    let (chat, now) = (new.chat, new.now);
    let Some(actor) = actor_on(db, new.by, chat).await? else {
        return Ok(Err(CreateTaskRefused::NotFound));
    };
    if let Some(keyed) = &new.keyed {
        match idempotency_record::remember_on(db, keyed, new.id.into(), now).await? {
            Verdict::First => {}
            Verdict::Repeated(first) => return Ok(Err(CreateTaskRefused::Repeated(first))),
            Verdict::KeyReused => return Ok(Err(CreateTaskRefused::KeyReused)),
        }
    }
    let mut superseded = None;
    if let Some(which) = new.supersedes {
        let Some(row) = locked_row_on(db, chat, which).await? else {
            return Ok(Err(CreateTaskRefused::SupersededNotFound));
        };
        let last_entry = row.last_entry;
        let mut old = row.into_task()?;
        let counted = old.counted();
        let Some(entry) = old.supersede(new.id, actor.clone(), now) else {
            return Ok(Err(CreateTaskRefused::SupersededNotActive));
        };
        save_on(db, &old, counted, last_entry, &[entry]).await?;
        superseded = Some(old);
    }
    let board = locked_board_on(db, chat).await?;
    if board.last_task >= i64::from(new.max_tasks) {
        return Ok(Err(CreateTaskRefused::Full { limit: new.max_tasks }));
    }
    let next = board.last_task + 1;
    diesel::update(boards::table.find(chat.uuid())).set(boards::last_task.eq(next)).execute(&mut db).await?;
    let replaced = superseded.as_ref().map(|old| old.id);
    let (task, entry) = new.clone().into_task(number(next)?, actor, replaced);
    diesel::insert_into(tasks::table).values(TaskRow::of(&task, 1)?).execute(&mut db).await?;
    try_join(record_on(db, chat, next, 0, &[entry]), count_on(db, &task, None)).await?;
    Ok(Ok(CreatedTask { task, superseded }))
}

pub(super) async fn change_task_on(
    db: &Db,
    command: &ChangeTask,
) -> Result<Result<ChangedTask, ChangeTaskRefused>, Fault> {
    let Some(actor) = actor_on(db, command.by, command.chat).await? else {
        return Ok(Err(ChangeTaskRefused::NotFound));
    };
    let Some(row) = locked_row_on(db, command.chat, command.task).await? else {
        return Ok(Err(ChangeTaskRefused::NotFound));
    };
    let last_entry = row.last_entry;
    let task = row.into_task()?;
    let counted = task.counted();
    let changed = match command.decide(task, &actor) {
        Ok(changed) => changed,
        Err(refused) => return Ok(Err(ChangeTaskRefused::Refused(refused))),
    };
    save_on(db, &changed.task, counted, last_entry, &changed.entries).await?;
    Ok(Ok(changed))
}

/// Writes a changed task, which is locked, with its new entries; before, the chat counted it as `counted`.
pub(super) async fn save_on(
    db: &Db,
    task: &Task,
    counted: Option<TaskStatus>,
    last_entry: i64,
    entries: &[Entry],
) -> Result<(), Fault> {
    let number = i64::from(task.number.get());
    let update = async {
        let mut db = db;
        let row = TaskRow::of(task, last_entry.saturating_add_unsigned(entries.len() as u64))?;
        diesel::update(tasks::table.find((task.chat.uuid(), number))).set(row).execute(&mut db).await?;
        Ok::<_, Fault>(())
    };
    let record = record_on(db, task.chat, number, last_entry, entries);
    try_join3(update, record, count_on(db, task, counted)).await?;
    Ok(())
}

/// Adds entries to the history of a task or of the goal.
async fn record_on(
    mut db: &Db,
    chat: ChatId,
    task: i64,
    last_entry: i64,
    entries: &[Entry],
) -> Result<(), Fault> {
    if !entries.is_empty() {
        let rows = EntryRow::after(last_entry, chat, task, entries)?;
        diesel::insert_into(board_entries::table).values(rows).execute(&mut db).await?;
    }
    Ok(())
}

/// Moves the counts of a task's chat; before, the chat counted it as `counted`.
async fn count_on(mut db: &Db, task: &Task, counted: Option<TaskStatus>) -> Result<(), Fault> {
    let Some(moved) = TaskCounts::moved(counted, task.counted()) else { return Ok(()) };
    let mut count = statement::<()>(COUNT);
    for more in moved {
        count = count.bind::<BigInt, _>(more);
    }
    count.bind::<SqlUuid, _>(task.chat.uuid()).execute(&mut db).await?;
    Ok(())
}

/// The caller under its present names, if it is a participant of the chat, which it stays until the end of the change.
async fn actor_on(db: &Db, by: Caller, chat: ChatId) -> Result<Option<Actor>, Fault> {
    let who = by.participant();
    let stays = lock::pin_participant_on(db, chat, who);
    let ((), mut found) = try_join(stays, participants_on(db, chat, Some(who.into()))).await?;
    Ok(found.pop().map(Actor::from))
}

/// The row of a chat's board, which is written if it is missing, and locked.
async fn locked_board_on(mut db: &Db, chat: ChatId) -> Result<BoardRow, Fault> {
    let missing = diesel::insert_into(boards::table).values(boards::chat_id.eq(chat.uuid()));
    missing.on_conflict_do_nothing().execute(&mut db).await?;
    let row = boards::table.find(chat.uuid()).select(BoardRow::as_select()).for_no_key_update();
    Ok(row.first(&mut db).await?)
}
