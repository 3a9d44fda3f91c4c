//! Storing the deletion of a chat.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::chat::{DeleteChat, DeleteRefused, DeletedChat};
use domain::id::{ChatId, ParticipantId};
use domain::time::Timestamp;
use futures_util::future::try_join3;
use uuid::Uuid;

use super::load::{locked_chat_on, standing_on};
use crate::audit;
use crate::board;
use crate::change;
use crate::error::Fault;
use crate::file;
use crate::legal_hold;
use crate::reminder;
use crate::row::{self, At};
use crate::run::Db;
use crate::schema::{chats, participants};
use crate::search;

pub(crate) async fn delete_on(
    db: &Db,
    command: &DeleteChat,
) -> Result<Result<DeletedChat, DeleteRefused>, Fault> {
    let is_kept = legal_hold::keeps_chat_on(db, command.chat).await?;
    let Some(chat) = locked_chat_on(db, command.chat).await? else {
        return Ok(Err(DeleteRefused::ChatNotFound));
    };
    if let Some(by) = command.by
        && let Err(refused) = standing_on(db, by.participant(), chat.id).await?.decide_delete()
    {
        return Ok(Err(refused));
    }
    if is_kept {
        return Ok(Err(DeleteRefused::UnderHold));
    }
    let empties = empty_on(db, chat.id, command.now);
    let audited = audit::append_on(db, [AuditEntry::chat_deleted(command)]);
    let (participants, (), ()) = try_join3(empties, mark_on(db, chat.id, command.now), audited).await?;
    board::mark_on(db, chat.id, command.now).await?;
    reminder::erase_of_chat_on(db, chat.id).await?;
    file::expire_on(db, chat.id, command.now).await?;
    search::close_on(db, chat.id).await?;
    change::append_on(db, [Change::ParticipantsRemoved(chat.id)], command.now).await?;
    Ok(Ok(DeletedChat { chat, participants, deleted_at: command.now }))
}

/// Removes all participants, so that no list has to skip a deleted chat. Returns them, oldest
/// first.
async fn empty_on(mut db: &Db, chat: ChatId, now: Timestamp) -> Result<Vec<ParticipantId>, Fault> {
    let mut present = diesel::update(participants::table)
        .filter(participants::chat_id.eq(chat.uuid()))
        .filter(participants::left_at.is_null())
        .set(participants::left_at.eq(At(now)))
        .returning((participants::joined_at, participants::participant_id, participants::kind))
        .get_results::<(At, Uuid, String)>(&mut db)
        .await?;
    present.sort_unstable();
    present.iter().map(|(_, id, kind)| row::participant_id(kind, *id)).collect()
}

async fn mark_on(mut db: &Db, chat: ChatId, now: Timestamp) -> Result<(), Fault> {
    diesel::update(chats::table.find(chat.uuid()))
        .set(chats::deleted_at.eq(At(now)))
        .execute(&mut db)
        .await?;
    Ok(())
}
