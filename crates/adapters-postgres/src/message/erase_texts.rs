//! Erasing what a user has written.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::account::PersonName;
use domain::audit::AuditEntry;
use domain::id::{ChatId, MessageId, ParticipantId, Sequence};
use domain::message::{EraseTexts, ErasedTexts, MessageKind};
use uuid::Uuid;

use super::load::message_on;
use super::title;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::{chats, messages, participants, users};
use crate::{audit, file, legal_hold, lock, search};

pub(super) async fn erase_texts_on(mut db: &Db, step: &EraseTexts) -> Result<ErasedTexts, Fault> {
    let (user, own) = (step.user.uuid(), ParticipantId::User(step.user).kind().as_str());
    let (mut chat, after) = step.after.unwrap_or((ChatId::NIL, Sequence::default()));
    let mut read = read_on(db, chat, after, step.limit).await?;
    if read.is_empty() {
        let later = participants::table
            .filter(participants::participant_id.eq(user))
            .filter(participants::chat_id.gt(chat.uuid()));
        let next = later.order(participants::chat_id).select(participants::chat_id);
        let Some(next) = next.first::<Uuid>(&mut db).await.optional()? else {
            return Ok(ErasedTexts::End);
        };
        chat = ChatId::new(next);
        read = read_on(db, chat, Sequence::default(), step.limit).await?;
    }
    if legal_hold::keeps_chat_on(db, chat).await? {
        return Ok(ErasedTexts::Held(chat));
    }
    let names = users::table.find(user).select((users::first_name, users::last_name));
    let Some((first, last)) = names.get_result(&mut db).await.optional()? else {
        return Ok(ErasedTexts::End);
    };
    let name = PersonName { first, last }.full();
    let last = read.last().map_or(Sequence::new(i64::MAX), |(_, sequence, ..)| Sequence::new(*sequence));
    lock::chat_on(db, chat).await?;
    let is_own = |(_, _, sender, kind, message_kind): &Read| {
        *sender == user && kind == own && message_kind == MessageKind::Text.as_str()
    };
    let texts = read.iter().filter(|row| is_own(row)).map(|(id, ..)| MessageId::new(*id)).collect::<Vec<_>>();
    lock::messages_on(db, texts.iter().copied()).await?;
    let (mut erased, mut grown) = (0, 0);
    for id in texts {
        let Some(message) = message_on(db, chat, id).await? else { continue };
        let Some(changed) = message.erased(&name, step.now) else { continue };
        file::detach_on(db, vec![id.uuid()], step.now).await?;
        diesel::update(messages::table.find(id.uuid()))
            .set((
                messages::content.eq(&changed.content),
                messages::metadata.eq(None::<String>),
                messages::attachments.eq(None::<String>),
                messages::sender_name.eq(&changed.sender_name),
                messages::updated_at.eq(At(changed.updated_at)),
            ))
            .execute(&mut db)
            .await?;
        grown += changed.bytes() - message.bytes();
        search::rewrite_on(db, &changed).await?;
        title::follow_on(db, chat, changed.id, None).await?;
        erased += 1;
    }
    if erased > 0 {
        diesel::update(chats::table.find(chat.uuid()))
            .set(chats::content_bytes.eq(chats::content_bytes + grown))
            .execute(&mut db)
            .await?;
        audit::append_on(db, [AuditEntry::messages_erased(step.user, chat, erased, step.now)]).await?;
    }
    Ok(ErasedTexts::Next { after: (chat, last), erased })
}

/// A message: its id and sequence, the id and the kind of its sender, and its own kind.
type Read = (Uuid, i64, Uuid, String, String);

async fn read_on(mut db: &Db, chat: ChatId, after: Sequence, limit: u32) -> Result<Vec<Read>, Fault> {
    let next = messages::table
        .filter(messages::chat_id.eq(chat.uuid()))
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
    Ok(next.load(&mut db).await?)
}
