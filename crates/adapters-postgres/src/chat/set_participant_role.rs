//! Storing another role of a participant.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::chat::membership::{SetParticipantRoleRefused, decide_set_role};
use domain::chat::{ChangedParticipant, Participant, SetParticipantRole};
use domain::id::ParticipantId;
use futures_util::future::try_join3;

use super::load::{locked_chat_on, participants_on, standing_on};
use super::remove_participant::owners_on;
use super::touch_on;
use crate::audit;
use crate::error::Fault;
use crate::run::Db;
use crate::schema::participants;

pub(super) async fn set_participant_role_on(
    mut db: &Db,
    command: &SetParticipantRole,
) -> Result<Result<ChangedParticipant, SetParticipantRoleRefused>, Fault> {
    let Some(chat) = locked_chat_on(db, command.chat).await? else {
        return Ok(Err(SetParticipantRoleRefused::ChatNotFound));
    };
    let caller = ParticipantId::User(command.by.user);
    let (standing, mut target, owners) = try_join3(
        standing_on(db, caller, chat.id),
        participants_on(db, chat.id, Some(command.target)),
        owners_on(db, chat.id),
    )
    .await?;
    let participant = match decide_set_role(caller, &standing, target.pop(), command.role, owners) {
        Ok(participant) => participant,
        Err(refused) => return Ok(Err(refused)),
    };
    let has_changed = participant.role != command.role;
    if has_changed {
        diesel::update(participants::table.find((chat.id.uuid(), command.target.uuid())))
            .set(participants::role.eq(command.role.as_str()))
            .execute(&mut db)
            .await?;
        touch_on(db, chat.id, command.now).await?;
        audit::append_on(db, [AuditEntry::participant_role_set(command, participant.id)]).await?;
    }
    let participant = Participant { role: command.role, ..participant };
    Ok(Ok(ChangedParticipant { participant, has_changed }))
}
