//! Editing and deleting texts.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::chat::ChatTitle;
use domain::id::{ChatId, MessageId, ParticipantId, UserId};
use domain::legal_hold::UnderHold;
use domain::message::{ChangeMessageRefused, ChangedMessage, DeleteMessage, EditMessage, Message};

use super::load::message_on;
use super::{erase, title};
use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::plan::quota;
use crate::row::At;
use crate::run::Db;
use crate::schema::{chats, messages};
use crate::{attention, audit, file, idempotency_record, legal_hold, lock, search};

pub(super) async fn edit_on(
    mut db: &Db,
    command: &EditMessage,
) -> Result<Result<ChangedMessage, ChangeMessageRefused>, Fault> {
    let EditMessage { chat, message, by, content, now } = command;
    let message = match changeable_on(db, *chat, *message, *by).await? {
        Ok(message) => message,
        Err(refused) => return Ok(Err(refused)),
    };
    let before = message.bytes();
    let message = message.edited(content, *now);
    if message.bytes() > before
        && let Err(reached) = quota::chat_bytes_on(db, *chat).await?
    {
        return Ok(Err(reached.into()));
    }
    diesel::update(messages::table.find(message.id.uuid()))
        .set((messages::content.eq(&message.content), messages::updated_at.eq(At(message.updated_at))))
        .execute(&mut db)
        .await?;
    diesel::update(chats::table.find(message.chat_id.uuid()))
        .set(chats::content_bytes.eq(chats::content_bytes + (message.bytes() - before)))
        .execute(&mut db)
        .await?;
    search::rewrite_on(db, &message).await?;
    audit::append_on(db, [AuditEntry::message_edited(command)]).await?;
    let title = ChatTitle::from_message(&message.content);
    let retitled = title::follow_on(db, message.chat_id, message.id, title).await?;
    Ok(Ok(ChangedMessage { message, retitled }))
}

pub(super) async fn delete_on(
    mut db: &Db,
    command: &DeleteMessage,
) -> Result<Result<ChangedMessage, ChangeMessageRefused>, Fault> {
    let message = match changeable_on(db, command.chat, command.message, command.by).await? {
        Ok(message) => message,
        Err(refused) => return Ok(Err(refused)),
    };
    idempotency_record::keep_on(db, &message).await?;
    if !message.attachments.is_empty() {
        file::detach_on(db, vec![message.id.uuid()], command.now.plus(command.unattached)).await?;
    }
    // One after the other: each sees what was committed before it got its lock.
    erase::records_on(db, &[message.id]).await?;
    diesel::delete(messages::table.find(message.id.uuid())).execute(&mut db).await?;
    attention::erase_on(db, vec![message.id.uuid()]).await?;
    search::erase_on(db, &message).await?;
    diesel::update(chats::table.find(message.chat_id.uuid()))
        .set((
            chats::deleted_messages.eq(chats::deleted_messages + 1),
            chats::content_bytes.eq(chats::content_bytes - message.bytes()),
        ))
        .execute(&mut db)
        .await?;
    audit::append_on(db, [AuditEntry::message_deleted(command)]).await?;
    let retitled = title::follow_on(db, message.chat_id, message.id, None).await?;
    Ok(Ok(ChangedMessage { message, retitled }))
}

/// A message that `by` may change. Chat and message are locked against changes of its records.
async fn changeable_on(
    db: &Db,
    chat: ChatId,
    message: MessageId,
    by: UserId,
) -> Result<Result<Message, ChangeMessageRefused>, Fault> {
    let is_kept = legal_hold::keeps_chat_on(db, chat).await?;
    lock::chat_on(db, chat).await?;
    if membership_on(db, ParticipantId::User(by), chat).await?.is_none() {
        return Ok(Err(ChangeMessageRefused::ChatNotFound));
    }
    lock::message_on(db, message).await?;
    let Some(message) = message_on(db, chat, message).await? else {
        return Ok(Err(ChangeMessageRefused::MessageNotFound));
    };
    if let Err(refused) = message.decide_change(by) {
        return Ok(Err(refused));
    }
    Ok(if is_kept { Err(UnderHold.into()) } else { Ok(message) })
}
