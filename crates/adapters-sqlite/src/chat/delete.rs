//! Storing the deletion of a chat.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::chat::{DeleteChat, DeleteRefused, DeletedChat};

use super::load::{chat_on, standing_on};
use crate::audit;
use crate::board;
use crate::change;
use crate::error::Fault;
use crate::file;
use crate::legal_hold;
use crate::reminder;
use crate::row::{self, Id};
use crate::schema::{chats, participants};
use crate::search;

pub(crate) fn delete_on(
    connection: &mut SqliteConnection,
    command: &DeleteChat,
) -> Result<Result<DeletedChat, DeleteRefused>, Fault> {
    if let Some(by) = command.by
        && let Err(refused) = standing_on(connection, by.participant(), command.chat)?.decide_delete()
    {
        return Ok(Err(refused));
    }
    let Some(chat) = chat_on(connection, command.chat)? else {
        return Ok(Err(DeleteRefused::ChatNotFound));
    };
    if legal_hold::keeps_chat_on(connection, command.chat)? {
        return Ok(Err(DeleteRefused::UnderHold));
    }
    let column = row::bytes(command.chat.uuid());
    let present = participants::table
        .filter(participants::chat_id.eq(&column))
        .filter(participants::left_at.is_null())
        .order((participants::joined_at, participants::participant_id))
        .select((participants::kind, participants::participant_id))
        .load::<(String, Id)>(connection)?;
    let present =
        present.iter().map(|(kind, id)| row::participant_id(kind, id.0)).collect::<Result<Vec<_>, _>>()?;
    // A deleted chat has no participants, so that no list has to skip it.
    diesel::update(participants::table)
        .filter(participants::chat_id.eq(&column))
        .filter(participants::left_at.is_null())
        .set(participants::left_at.eq(command.now.micros()))
        .execute(connection)?;
    diesel::update(chats::table.find(&column))
        .set(chats::deleted_at.eq(command.now.micros()))
        .execute(connection)?;
    board::mark_on(connection, command.chat, command.now)?;
    reminder::erase_of_chat_on(connection, command.chat)?;
    file::expire_on(connection, command.chat, command.now)?;
    search::close_on(connection, command.chat)?;
    audit::append_on(connection, [AuditEntry::chat_deleted(command)])?;
    change::append_on(connection, [Change::ParticipantsRemoved(command.chat)], command.now)?;
    Ok(Ok(DeletedChat { chat, participants: present, deleted_at: command.now }))
}
