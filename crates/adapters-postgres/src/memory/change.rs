//! Changing the state of a memory, and deleting it.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::memory::{ChangeMemory, ChangeMemoryRefused, Memory, Refused};

use super::read::viewed_on;
use crate::error::Fault;
use crate::lock;
use crate::row::At;
use crate::run::Db;
use crate::schema::memories;

pub(super) async fn change_on(
    mut db: &Db,
    command: &ChangeMemory,
) -> Result<Result<Memory, ChangeMemoryRefused>, Fault> {
    lock::memory_on(db, command.memory).await?;
    let Some(viewed) = viewed_on(db, command.caller, command.memory).await? else {
        return Ok(Err(ChangeMemoryRefused::NotFound));
    };
    let mut memory = viewed.memory;
    match viewed.reader.may_change(memory.scope) {
        Ok(()) => {}
        Err(Refused::NotFound) => return Ok(Err(ChangeMemoryRefused::NotFound)),
        Err(Refused::Forbidden) => return Ok(Err(ChangeMemoryRefused::Forbidden)),
    }
    let row = memories::table.find(memory.id.uuid());
    let Some(step) = command.step else {
        diesel::delete(row).execute(&mut db).await?;
        return Ok(Ok(memory));
    };
    match memory.status.moved(step) {
        Ok(same) if same == memory.status => return Ok(Ok(memory)),
        Ok(status) => memory.status = status,
        Err(unmovable) => return Ok(Err(ChangeMemoryRefused::Unmovable(unmovable))),
    }
    memory.updated_at = command.now;
    diesel::update(row)
        .set((memories::status.eq(memory.status.as_str()), memories::updated_at.eq(At(command.now))))
        .execute(&mut db)
        .await?;
    Ok(Ok(memory))
}
