//! Editing and deleting texts.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::chat::ChatTitle;
use domain::id::{ChatId, MessageId, ParticipantId, UserId};
use domain::legal_hold::UnderHold;
use domain::message::{ChangeMessageRefused, ChangedMessage, DeleteMessage, EditMessage, Message};

use super::load::message_on;
use super::title;
use crate::attention;
use crate::audit;
use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::file;
use crate::idempotency_record;
use crate::legal_hold;
use crate::plan::quota;
use crate::row::{self, Id};
use crate::schema::{attempts, chats, deliveries, messages};
use crate::search;

pub(super) fn edit_on(
    connection: &mut SqliteConnection,
    command: &EditMessage,
) -> Result<Result<ChangedMessage, ChangeMessageRefused>, Fault> {
    let EditMessage { chat, message, by, content, now } = command;
    let message = match changeable_on(connection, *chat, *message, *by)? {
        Ok(message) => message,
        Err(refused) => return Ok(Err(refused)),
    };
    let before = message.bytes();
    let message = message.edited(content, *now);
    if message.bytes() > before
        && let Err(reached) = quota::chat_bytes_on(connection, *chat)?
    {
        return Ok(Err(reached.into()));
    }
    diesel::update(messages::table.find(row::bytes(message.id.uuid())))
        .set((messages::content.eq(&message.content), messages::updated_at.eq(message.updated_at.micros())))
        .execute(connection)?;
    diesel::update(chats::table.find(row::bytes(message.chat_id.uuid())))
        .set(chats::content_bytes.eq(chats::content_bytes + (message.bytes() - before)))
        .execute(connection)?;
    search::rewrite_on(connection, &message)?;
    audit::append_on(connection, [AuditEntry::message_edited(command)])?;
    let title = ChatTitle::from_message(&message.content);
    let retitled = title::follow_on(connection, message.chat_id, message.id, title)?;
    Ok(Ok(ChangedMessage { message, retitled }))
}

pub(super) fn delete_on(
    connection: &mut SqliteConnection,
    command: &DeleteMessage,
) -> Result<Result<ChangedMessage, ChangeMessageRefused>, Fault> {
    let message = match changeable_on(connection, command.chat, command.message, command.by)? {
        Ok(message) => message,
        Err(refused) => return Ok(Err(refused)),
    };
    idempotency_record::keep_on(connection, &message)?;
    if !message.attachments.is_empty() {
        file::detach_on(connection, &[Id(message.id.uuid())], command.now.plus(command.unattached))?;
    }
    let agents = message.deliveries.iter().map(|record| row::bytes(record.agent().uuid()));
    let (agents, chat) = (agents.collect::<Vec<_>>(), row::bytes(message.chat_id.uuid()));
    let tries = attempts::table
        .filter(attempts::agent_id.eq_any(&agents))
        .filter(attempts::chat_id.eq(&chat))
        .filter(attempts::sequence.eq(message.sequence.get()));
    diesel::delete(tries).execute(connection)?;
    let records = deliveries::table
        .filter(deliveries::agent_id.eq_any(&agents))
        .filter(deliveries::chat_id.eq(&chat))
        .filter(deliveries::sequence.eq(message.sequence.get()));
    diesel::delete(records).execute(connection)?;
    diesel::delete(messages::table.find(row::bytes(message.id.uuid()))).execute(connection)?;
    attention::erase_on(connection, &[Id(message.id.uuid())])?;
    search::erase_on(connection, &message)?;
    diesel::update(chats::table.find(row::bytes(message.chat_id.uuid())))
        .set((
            chats::deleted_messages.eq(chats::deleted_messages + 1),
            chats::content_bytes.eq(chats::content_bytes - message.bytes()),
        ))
        .execute(connection)?;
    audit::append_on(connection, [AuditEntry::message_deleted(command)])?;
    let retitled = title::follow_on(connection, message.chat_id, message.id, None)?;
    Ok(Ok(ChangedMessage { message, retitled }))
}

/// A message that `by` may change.
fn changeable_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    message: MessageId,
    by: UserId,
) -> Result<Result<Message, ChangeMessageRefused>, Fault> {
    if membership_on(connection, ParticipantId::User(by), chat)?.is_none() {
        return Ok(Err(ChangeMessageRefused::ChatNotFound));
    }
    let Some(message) = message_on(connection, chat, message)? else {
        return Ok(Err(ChangeMessageRefused::MessageNotFound));
    };
    if let Err(refused) = message.decide_change(by) {
        return Ok(Err(refused));
    }
    if legal_hold::keeps_chat_on(connection, chat)? {
        return Ok(Err(UnderHold.into()));
    }
    Ok(Ok(message))
}
