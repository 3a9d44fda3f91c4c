//! Storing the removal or departure of a participant.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::board::Actor;
use domain::change::Change;
use domain::chat::membership::decide_remove;
use domain::chat::{Chat, RemoveParticipant, RemoveRefused, RemovedParticipant, Role};

use super::load::{chat_on, membership_on, participants_on};
use crate::audit;
use crate::board;
use crate::change;
use crate::error::Fault;
use crate::reminder;
use crate::row;
use crate::schema::{chats, participants};

pub(super) fn remove_participant_on(
    connection: &mut SqliteConnection,
    command: &RemoveParticipant,
) -> Result<Result<RemovedParticipant, RemoveRefused>, Fault> {
    let caller_role = membership_on(connection, command.by.participant(), command.chat)?.map(|own| own.role);
    let target = participants_on(connection, command.chat, Some(command.target))?.pop();
    let chat = row::bytes(command.chat.uuid());
    let owners = owners_on(connection, &chat)?;
    let target = match decide_remove(command.by, caller_role, target, owners) {
        Ok(target) => target,
        Err(refused) => return Ok(Err(refused)),
    };
    let now = command.now.micros();
    diesel::update(participants::table.find((&chat, row::bytes(command.target.uuid()))))
        .set(participants::left_at.eq(now))
        .execute(connection)?;
    diesel::update(chats::table.find(&chat)).set(chats::updated_at.eq(now)).execute(connection)?;
    let actor = Actor::from(target.clone());
    let reason = command.drop_reason();
    reminder::end_on(connection, target.id, command.chat, command.now)?;
    let dropped = board::drop_on(connection, &actor, Some(command.chat), reason, command.now)?;
    audit::append_on(connection, [AuditEntry::participant_removed(command, target.id)])?;
    change::append_on(connection, [Change::ParticipantsRemoved(command.chat)], command.now)?;
    let chat = chat_on(connection, command.chat)?;
    let chat =
        chat.ok_or_else(|| Fault::Row("the chat disappeared within its own transaction".to_owned()))?;
    let chat = Chat { updated_at: command.now, ..chat };
    Ok(Ok(RemovedParticipant { chat, participant: target, dropped }))
}

/// The number of the chat's owners.
pub(super) fn owners_on(connection: &mut SqliteConnection, chat: &[u8]) -> Result<usize, Fault> {
    let owners = participants::table
        .filter(participants::chat_id.eq(chat))
        .filter(participants::role.eq(Role::Owner.as_str()))
        .filter(participants::left_at.is_null())
        .count()
        .get_result::<i64>(connection)?;
    Ok(usize::try_from(owners).unwrap_or(usize::MAX))
}
