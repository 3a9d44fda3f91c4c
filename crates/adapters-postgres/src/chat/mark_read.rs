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
use crate::schema::{chats, messages};
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
    let (last, mut texts) = chats::table
        .find(command.chat.uuid())
        .select((chats::last_sequence, chats::texts))
        .get_result::<(i64, i64)>(&mut db)
        .await?;
    let (mut sequence, mut backwards) = (last, false);
    if let Some((message, before)) = command.mark.message() {
        let Some(found) = sequence_on(db, command.chat, message).await? else {
            return Ok(Err(MarkReadRefused::MessageNotFound));
        };
        (sequence, backwards) = (found - i64::from(before), before);
        texts -= texts_after_on(db, command.chat, sequence.max(last - i64::from(COUNTED_SEQUENCES))).await?;
    }
    // Another request of the same human may have moved the mark meanwhile.
    let beyond = if backwards { ">" } else { "<" };
    let moved = statement::<()>(format!(
        "UPDATE participants SET read_sequence = ?, read_texts = ? \
         WHERE chat_id = ? AND participant_id = ? AND read_sequence {beyond} ?"
    ));
    let moved = moved
        .bind::<BigInt, _>(sequence)
        .bind::<BigInt, _>(texts)
        .bind::<SqlUuid, _>(command.chat.uuid())
        .bind::<SqlUuid, _>(command.by.uuid())
        .bind::<BigInt, _>(sequence)
        .execute(&mut db)
        .await?;
    let unread = unread_on(db, command.by, &[command.chat]).await?.remove(&command.chat).unwrap_or_default();
    Ok(Ok(MarkedRead { unread, moved: moved > 0 }))
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

async fn texts_after_on(mut db: &Db, chat: ChatId, sequence: i64) -> Result<i64, Fault> {
    let counted = statement::<BigInt>(
        "SELECT count(*) FROM messages WHERE chat_id = ? AND sequence > ? AND kind = 'text'",
    );
    Ok(counted.bind::<SqlUuid, _>(chat.uuid()).bind::<BigInt, _>(sequence).get_result(&mut db).await?)
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
