//! Storing the removal or departure of a participant.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::board::Actor;
use domain::change::Change;
use domain::chat::membership::decide_remove;
use domain::chat::{Chat, RemoveParticipant, RemoveRefused, RemovedParticipant, Role};
use domain::id::{AccountId, ChatId};
use domain::time::Timestamp;
use futures_util::future::try_join3;

use super::load::{locked_chat_on, membership_on, participants_on};
use super::touch_on;
use crate::audit;
use crate::board;
use crate::change;
use crate::error::Fault;
use crate::reminder;
use crate::row::At;
use crate::run::Db;
use crate::schema::participants;

pub(super) async fn remove_participant_on(
    db: &Db,
    command: &RemoveParticipant,
) -> Result<Result<RemovedParticipant, RemoveRefused>, Fault> {
    let Some(chat) = locked_chat_on(db, command.chat).await? else {
        return Ok(Err(RemoveRefused::ChatNotFound));
    };
    let (caller, mut target, owners) = try_join3(
        membership_on(db, command.by.participant(), chat.id),
        participants_on(db, chat.id, Some(command.target)),
        owners_on(db, chat.id),
    )
    .await?;
    let target = match decide_remove(command.by, caller.map(|own| own.role), target.pop(), owners) {
        Ok(target) => target,
        Err(refused) => return Ok(Err(refused)),
    };
    let leaves = leave_on(db, chat.id, command.target, command.now);
    let audited = audit::append_on(db, [AuditEntry::participant_removed(command, target.id)]);
    try_join3(leaves, touch_on(db, chat.id, command.now), audited).await?;
    let actor = Actor::from(target.clone());
    reminder::end_on(db, target.id, chat.id, command.now).await?;
    let dropped = board::drop_on(db, &actor, Some(chat.id), command.drop_reason(), command.now).await?;
    change::append_on(db, [Change::ParticipantsRemoved(chat.id)], command.now).await?;
    let chat = Chat { updated_at: command.now, ..chat };
    Ok(Ok(RemovedParticipant { chat, participant: target, dropped }))
}

/// The number of the chat's owners.
pub(super) async fn owners_on(mut db: &Db, chat: ChatId) -> Result<usize, Fault> {
    let owners = participants::table
        .filter(participants::chat_id.eq(chat.uuid()))
        .filter(participants::role.eq(Role::Owner.as_str()))
        .filter(participants::left_at.is_null())
        .count()
        .get_result::<i64>(&mut db)
        .await?;
    Ok(usize::try_from(owners).unwrap_or(usize::MAX))
}

async fn leave_on(mut db: &Db, chat: ChatId, who: AccountId, now: Timestamp) -> Result<(), Fault> {
    diesel::update(participants::table.find((chat.uuid(), who.uuid())))
        .set(participants::left_at.eq(At(now)))
        .execute(&mut db)
        .await?;
    Ok(())
}
