//! Storing another role of a participant.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::chat::membership::{SetParticipantRoleRefused, decide_set_role};
use domain::chat::{ChangedParticipant, Participant, SetParticipantRole};
use domain::id::ParticipantId;

use super::load::{participants_on, standing_on};
use super::remove_participant::owners_on;
use crate::audit;
use crate::error::Fault;
use crate::row;
use crate::schema::{chats, participants};

pub(super) fn set_participant_role_on(
    connection: &mut SqliteConnection,
    command: &SetParticipantRole,
) -> Result<Result<ChangedParticipant, SetParticipantRoleRefused>, Fault> {
    let caller = ParticipantId::User(command.by.user);
    let standing = standing_on(connection, caller, command.chat)?;
    let target = participants_on(connection, command.chat, Some(command.target))?.pop();
    let chat = row::bytes(command.chat.uuid());
    let owners = owners_on(connection, &chat)?;
    let participant = match decide_set_role(caller, &standing, target, command.role, owners) {
        Ok(participant) => participant,
        Err(refused) => return Ok(Err(refused)),
    };
    let has_changed = participant.role != command.role;
    if has_changed {
        diesel::update(participants::table.find((&chat, row::bytes(command.target.uuid()))))
            .set(participants::role.eq(command.role.as_str()))
            .execute(connection)?;
        diesel::update(chats::table.find(&chat))
            .set(chats::updated_at.eq(command.now.micros()))
            .execute(connection)?;
        audit::append_on(connection, [AuditEntry::participant_role_set(command, participant.id)])?;
    }
    let participant = Participant { role: command.role, ..participant };
    Ok(Ok(ChangedParticipant { participant, has_changed }))
}
