//! The marks of humans in chats, and what is unread after them.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::{
    COUNTED_SEQUENCES, EXAMINED_SEQUENCES, Examined, MarkRead, MarkReadRefused, MarkedRead, Unread,
};
use domain::id::{ChatId, MessageId, ParticipantId, Sequence, UserId};
use uuid::Uuid;

use super::details::uuids;
use super::load::standing_on;
use crate::error::Fault;
use crate::message::row::mention_of;
use crate::run::Db;
use crate::schema::messages;
use crate::statement::statement;

pub(super) async fn mark_read_on(
    mut db: &Db,
    command: &MarkRead,
) -> Result<Result<MarkedRead, MarkReadRefused>, Fault> {
    if let Err(refused) =
        standing_on(db, ParticipantId::User(command.by), command.chat).await?.decide_mark_read()
    {
        return Ok(Err(refused));
    }
    let found = match command.mark.message() {
        Some(message) => match sequence_on(db, command.chat, message).await? {
            Some(found) => Some(Sequence::new(found)),
            None => return Ok(Err(MarkReadRefused::MessageNotFound)),
        },
        None => None,
    };
    // The row is locked, so that another request of the same human waits.
    let marks = statement::<(BigInt, BigInt)>(
        "SELECT read_sequence, last_sequence FROM participants JOIN chats ON chats.id = participants.chat_id \
         WHERE chat_id = ? AND participant_id = ? AND left_at IS NULL FOR NO KEY UPDATE OF participants",
    );
    let marks = marks
        .bind::<SqlUuid, _>(command.chat.uuid())
        .bind::<SqlUuid, _>(command.by.uuid())
        .get_result::<(i64, i64)>(&mut db)
        .await
        .optional()?;
    let Some((read, last)) = marks else { return Ok(Err(MarkReadRefused::ChatNotFound)) };
    let moved = command.mark.moved(Sequence::new(read), Sequence::new(last), found);
    if let Some(to) = moved {
        // One statement, so that no text is counted by the chat and not here.
        let update = statement::<()>(
            "UPDATE participants SET read_sequence = ?, read_texts = (SELECT texts FROM chats WHERE chats.id = chat_id) \
             - (SELECT count(*) FROM messages WHERE messages.chat_id = participants.chat_id \
                AND sequence > ? AND messages.kind = 'text') \
             WHERE chat_id = ? AND participant_id = ?",
        );
        update
            .bind::<BigInt, _>(to.get())
            .bind::<BigInt, _>(to.get().max(last - i64::from(COUNTED_SEQUENCES)))
            .bind::<SqlUuid, _>(command.chat.uuid())
            .bind::<SqlUuid, _>(command.by.uuid())
            .execute(&mut db)
            .await?;
    }
    let unread = unread_on(db, command.by, &[command.chat]).await?.remove(&command.chat);
    let moved = moved.is_some();
    Ok(unread.map(|unread| MarkedRead { unread, moved }).ok_or(MarkReadRefused::ChatNotFound))
}

/// The sequence of a message of the chat.
async fn sequence_on(mut db: &Db, chat: ChatId, message: MessageId) -> Result<Option<i64>, Fault> {
    Ok(messages::table
        .find(message.uuid())
        .filter(messages::chat_id.eq(chat.uuid()))
        .select(messages::sequence)
        .get_result(&mut db)
        .await
        .optional()?)
}

/// What a human has not read in those of the chats in which they are. Seeks in each chat, like
/// [`standings_on`](super::details::standings_on); a human is their own account, for which there is an index.
pub(super) async fn unread_on(
    mut db: &Db,
    reader: UserId,
    chats: &[ChatId],
) -> Result<HashMap<ChatId, Unread>, Fault> {
    type SqlRow = (SqlUuid, BigInt, BigInt, BigInt, BigInt, BigInt, BigInt);
    let rows = statement::<SqlRow>(format!(
        "SELECT own.*, newest.* FROM unnest(?) AS wanted (id) CROSS JOIN LATERAL (\
             SELECT chats.id, read_sequence, last_sequence, texts - read_texts \
             FROM participants JOIN chats ON chats.id = participants.chat_id \
             WHERE participants.chat_id = wanted.id AND account_id = ? AND participant_id = ? AND left_at IS NULL \
             OFFSET 0) AS own \
         CROSS JOIN LATERAL (\
             SELECT count(*) FILTER (WHERE sender_id = ?), count(*) FILTER (WHERE sender_id <> ?), \
             count(*) FILTER (WHERE sender_id <> ? AND strpos(mentions, ?) > 0) \
             FROM messages WHERE chat_id = own.id AND kind = 'text' \
             AND sequence > greatest(own.read_sequence, own.last_sequence - {EXAMINED_SEQUENCES})) AS newest"
    ));
    let rows = rows
        .bind::<Array<SqlUuid>, _>(uuids(chats))
        .bind::<SqlUuid, _>(reader.uuid())
        .bind::<SqlUuid, _>(reader.uuid())
        .bind::<SqlUuid, _>(reader.uuid())
        .bind::<SqlUuid, _>(reader.uuid())
        .bind::<SqlUuid, _>(reader.uuid())
        .bind::<Text, _>(mention_of(ParticipantId::User(reader)))
        .load::<(Uuid, i64, i64, i64, i64, i64, i64)>(&mut db)
        .await?;
    let unread = |(chat, read, last, counted, own, others, mentions): (Uuid, _, _, _, i64, i64, i64)| {
        let [own, others, mentions] = [own, others, mentions].map(i64::cast_unsigned);
        let examined = Examined { own, others, mentions };
        (ChatId::new(chat), Unread::of(Sequence::new(read), Sequence::new(last), counted, examined))
    };
    Ok(rows.into_iter().map(unread).collect())
}
