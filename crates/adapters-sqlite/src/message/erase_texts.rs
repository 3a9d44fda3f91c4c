//! Erasing what a user has written.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::PersonName;
use domain::audit::AuditEntry;
use domain::id::{ChatId, MessageId, ParticipantId, Sequence};
use domain::message::{EraseTexts, ErasedTexts, MessageKind};

use super::load::message_on;
use super::title;
use crate::audit;
use crate::error::Fault;
use crate::file;
use crate::legal_hold;
use crate::row::{At, Id};
use crate::schema::{chats, messages, participants, users};
use crate::search;

pub(super) fn erase_texts_on(
    connection: &mut SqliteConnection,
    step: EraseTexts,
) -> Result<ErasedTexts, Fault> {
    let (user, own) = (Id(step.user.uuid()), ParticipantId::User(step.user).kind().as_str());
    let (mut chat, after) = step.after.unwrap_or((ChatId::NIL, Sequence::default()));
    let mut read = read_on(connection, chat, after, step.limit)?;
    if read.is_empty() {
        let later = participants::table
            .filter(participants::participant_id.eq(user))
            .filter(participants::chat_id.gt(Id(chat.uuid())));
        let next = later.order(participants::chat_id).select(participants::chat_id);
        let Some(next) = next.first::<Id>(connection).optional()? else { return Ok(ErasedTexts::End) };
        chat = ChatId::new(next.0);
        read = read_on(connection, chat, Sequence::default(), step.limit)?;
    }
    if legal_hold::keeps_chat_on(connection, chat)? {
        return Ok(ErasedTexts::Held(chat));
    }
    let names = users::table.find(user).select((users::first_name, users::last_name));
    let Some((first, last)) = names.get_result(connection).optional()? else { return Ok(ErasedTexts::End) };
    let name = PersonName { first, last }.full();
    let last = read.last().map_or(Sequence::new(i64::MAX), |(_, sequence, ..)| Sequence::new(*sequence));
    let (mut erased, mut grown) = (0, 0);
    for (id, _, sender, kind, message_kind) in read {
        if sender != user || kind != own || message_kind != MessageKind::Text.as_str() {
            continue;
        }
        let Some(message) = message_on(connection, chat, MessageId::new(id.0))? else { continue };
        let Some(changed) = message.erased(&name, step.now) else { continue };
        file::detach_on(connection, &[id], step.now)?;
        diesel::update(messages::table.find(id))
            .set((
                messages::content.eq(&changed.content),
                messages::metadata.eq(None::<String>),
                messages::attachments.eq(None::<String>),
                messages::sender_name.eq(&changed.sender_name),
                messages::updated_at.eq(At(changed.updated_at)),
            ))
            .execute(connection)?;
        grown += changed.bytes() - message.bytes();
        search::rewrite_on(connection, &changed)?;
        title::follow_on(connection, chat, changed.id, None)?;
        erased += 1;
    }
    if erased > 0 {
        diesel::update(chats::table.find(Id(chat.uuid())))
            .set(chats::content_bytes.eq(chats::content_bytes + grown))
            .execute(connection)?;
        audit::append_on(connection, [AuditEntry::messages_erased(step.user, chat, erased, step.now)])?;
    }
    Ok(ErasedTexts::Next { after: (chat, last), erased })
}

/// A message: its id and sequence, the id and the kind of its sender, and its own kind.
type Read = (Id, i64, Id, String, String);

fn read_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    after: Sequence,
    limit: u32,
) -> Result<Vec<Read>, Fault> {
    let next = messages::table
        .filter(messages::chat_id.eq(Id(chat.uuid())))
        .filter(messages::sequence.gt(after.get()))
        .order(messages::sequence)
        .limit(i64::from(limit))
        .select((
            messages::id,
            messages::sequence,
            messages::sender_id,
            messages::sender_kind,
            messages::kind,
        ));
    Ok(next.load(connection)?)
}
