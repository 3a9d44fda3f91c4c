//! The marks of humans in chats, and what is unread after them.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::{
    COUNTED_SEQUENCES, EXAMINED_SEQUENCES, Examined, MAX_MARKED, MarkRead, MarkReadRefused, MarkedRead,
    MarkedRooms, ReadMark, Unread,
};
use domain::id::{ChatId, MessageId, ParticipantId, Sequence, UserId};
use uuid::Uuid;

use super::details::uuids;
use super::load::standing_on;
use crate::error::Fault;
use crate::message::row::mention_of;
use crate::run::Db;
use crate::schema::{messages, participants};
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
    let change = command.change;
    let found = match change.mark.and_then(ReadMark::message) {
        Some(message) => match sequence_on(db, command.chat, message).await? {
            Some(found) => Some(Sequence::new(found)),
            None => return Ok(Err(MarkReadRefused::MessageNotFound)),
        },
        None => None,
    };
    // The row is locked, so that another request of the same human waits.
    let marks = statement::<(BigInt, BigInt, Bool)>(
        "SELECT read_sequence, last_sequence, muted FROM participants JOIN chats ON chats.id = participants.chat_id \
         WHERE chat_id = ? AND participant_id = ? AND left_at IS NULL FOR NO KEY UPDATE OF participants",
    );
    let marks = marks
        .bind::<SqlUuid, _>(command.chat.uuid())
        .bind::<SqlUuid, _>(command.by.uuid())
        .get_result::<(i64, i64, bool)>(&mut db)
        .await
        .optional()?;
    let Some((read, last, was_muted)) = marks else { return Ok(Err(MarkReadRefused::ChatNotFound)) };
    let moved = change.mark.and_then(|mark| mark.moved(Sequence::new(read), Sequence::new(last), found));
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
    let muted = change.muted.filter(|muted| *muted != was_muted);
    if let Some(muted) = muted {
        diesel::update(participants::table.find((command.chat.uuid(), command.by.uuid())))
            .set(participants::muted.eq(muted))
            .execute(&mut db)
            .await?;
    }
    let unread = unread_on(db, command.by, &[command.chat]).await?.remove(&command.chat);
    let changed = moved.is_some() || muted.is_some();
    Ok(unread.map(|unread| MarkedRead { unread, changed }).ok_or(MarkReadRefused::ChatNotFound))
}

/// Locks the memberships in the order of their ids, like every request of this human. The numbers of a chat are read by
/// the statement that stores them, so that no text is counted by the chat and not here.
const MARK_ALL: &str = "UPDATE participants SET read_sequence = chats.last_sequence, read_texts = chats.texts \
     FROM (SELECT own.chat_id FROM participants AS own JOIN chats ON chats.id = own.chat_id \
           WHERE own.participant_id = ? AND own.left_at IS NULL AND chats.deleted_at IS NULL \
           AND own.read_sequence < chats.last_sequence ORDER BY own.chat_id LIMIT ? FOR NO KEY UPDATE OF own) AS behind \
     JOIN chats ON chats.id = behind.chat_id \
     WHERE participants.chat_id = behind.chat_id AND participants.participant_id = ? \
     RETURNING participants.chat_id, participants.read_sequence, participants.muted";

pub(super) async fn mark_all_read_on(mut db: &Db, reader: UserId) -> Result<MarkedRooms, Fault> {
    let rows = statement::<(SqlUuid, BigInt, Bool)>(MARK_ALL)
        .bind::<SqlUuid, _>(reader.uuid())
        .bind::<BigInt, _>(i64::try_from(MAX_MARKED).unwrap_or(i64::MAX))
        .bind::<SqlUuid, _>(reader.uuid())
        .load::<(Uuid, i64, bool)>(&mut db)
        .await?;
    Ok(MarkedRooms::of(
        rows.into_iter().map(|(chat, read, muted)| (ChatId::new(chat), Sequence::new(read), muted)),
    ))
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
    type SqlRow = (SqlUuid, BigInt, BigInt, BigInt, Bool, BigInt, BigInt, BigInt);
    let rows = statement::<SqlRow>(format!(
        "SELECT own.*, newest.* FROM unnest(?) AS wanted (id) CROSS JOIN LATERAL (\
             SELECT chats.id, read_sequence, last_sequence, texts - read_texts, muted \
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
        .load::<(Uuid, i64, i64, i64, bool, i64, i64, i64)>(&mut db)
        .await?;
    let unread =
        |(chat, read, last, counted, muted, own, others, mentions): (_, _, _, _, _, i64, i64, i64)| {
            let [own, others, mentions] = [own, others, mentions].map(i64::cast_unsigned);
            let examined = Examined { own, others, mentions };
            (
                ChatId::new(chat),
                Unread::of(Sequence::new(read), Sequence::new(last), counted, examined, muted),
            )
        };
    Ok(rows.into_iter().map(unread).collect())
}
