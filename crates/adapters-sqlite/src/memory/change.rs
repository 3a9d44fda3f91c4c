//! Changing the state of a memory, and deleting it.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::memory::{ChangeMemory, ChangeMemoryRefused, Memory, Refused};

use super::read::viewed_on;
use crate::error::Fault;
use crate::row;
use crate::schema::memories;

pub(super) fn change_on(
    connection: &mut SqliteConnection,
    command: ChangeMemory,
) -> Result<Result<Memory, ChangeMemoryRefused>, Fault> {
    let Some(viewed) = viewed_on(connection, command.caller, command.memory)? else {
        return Ok(Err(ChangeMemoryRefused::NotFound));
    };
    let mut memory = viewed.memory;
    match viewed.reader.may_change(memory.scope) {
        Ok(()) => {}
        Err(Refused::NotFound) => return Ok(Err(ChangeMemoryRefused::NotFound)),
        Err(Refused::Forbidden) => return Ok(Err(ChangeMemoryRefused::Forbidden)),
    }
    let row = memories::table.find(row::bytes(memory.id.uuid()));
    let Some(step) = command.step else {
        diesel::delete(row).execute(connection)?;
        return Ok(Ok(memory));
    };
    match memory.status.moved(step) {
        Ok(same) if same == memory.status => return Ok(Ok(memory)),
        Ok(status) => memory.status = status,
        Err(unmovable) => return Ok(Err(ChangeMemoryRefused::Unmovable(unmovable))),
    }
    memory.updated_at = command.now;
    diesel::update(row)
        .set((memories::status.eq(memory.status.as_str()), memories::updated_at.eq(command.now.micros())))
        .execute(connection)?;
    Ok(Ok(memory))
}
