//! The marks of humans in chats, and what is unread after them.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Text};
use diesel::sqlite::SqliteConnection;
use domain::chat::{
    COUNTED_SEQUENCES, EXAMINED_SEQUENCES, Examined, MarkRead, MarkReadRefused, MarkedRead, Unread,
};
use domain::id::{ChatId, MessageId, ParticipantId, Sequence, UserId};

use super::details::in_list;
use super::load::standing_on;
use crate::error::Fault;
use crate::message::row::mention_of;
use crate::row::{self, Id};
use crate::schema::{chats, messages};
use crate::statement::statement;

pub(super) fn mark_read_on(
    connection: &mut SqliteConnection,
    command: &MarkRead,
) -> Result<Result<MarkedRead, MarkReadRefused>, Fault> {
    if let Err(refused) =
        standing_on(connection, ParticipantId::User(command.by), command.chat)?.decide_mark_read()
    {
        return Ok(Err(refused));
    }
    let (last, mut texts) = chats::table
        .find(row::bytes(command.chat.uuid()))
        .select((chats::last_sequence, chats::texts))
        .get_result::<(i64, i64)>(connection)?;
    let (mut sequence, mut backwards) = (last, false);
    if let Some((message, before)) = command.mark.message() {
        let Some(found) = sequence_on(connection, command.chat, message)? else {
            return Ok(Err(MarkReadRefused::MessageNotFound));
        };
        (sequence, backwards) = (found - i64::from(before), before);
        texts -= texts_after_on(connection, command.chat, sequence.max(last - i64::from(COUNTED_SEQUENCES)))?;
    }
    let moved = if backwards {
        statement!(
            "UPDATE participants SET read_sequence = ?, read_texts = ? \
             WHERE chat_id = ? AND participant_id = ? AND read_sequence > ?"
        )
        .bind::<BigInt, _>(sequence)
        .bind::<BigInt, _>(texts)
        .bind::<Binary, _>(Id(command.chat.uuid()))
        .bind::<Binary, _>(Id(command.by.uuid()))
        .bind::<BigInt, _>(sequence)
        .execute(connection)?
    } else {
        statement!(
            "UPDATE participants SET read_sequence = ?, read_texts = ? \
             WHERE chat_id = ? AND participant_id = ? AND read_sequence < ?"
        )
        .bind::<BigInt, _>(sequence)
        .bind::<BigInt, _>(texts)
        .bind::<Binary, _>(Id(command.chat.uuid()))
        .bind::<Binary, _>(Id(command.by.uuid()))
        .bind::<BigInt, _>(sequence)
        .execute(connection)?
    };
    let unread =
        unread_on(connection, command.by, &[command.chat])?.remove(&command.chat).unwrap_or_default();
    Ok(Ok(MarkedRead { unread, moved: moved > 0 }))
}

/// The sequence of a message of the chat.
fn sequence_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    message: MessageId,
) -> Result<Option<i64>, Fault> {
    Ok(messages::table
        .find(row::bytes(message.uuid()))
        .filter(messages::chat_id.eq(row::bytes(chat.uuid())))
        .select(messages::sequence)
        .get_result(connection)
        .optional()?)
}

fn texts_after_on(connection: &mut SqliteConnection, chat: ChatId, sequence: i64) -> Result<i64, Fault> {
    let counted = statement!(
        "SELECT count(*) FROM messages INDEXED BY messages_order \
         WHERE chat_id = ? AND sequence > ? AND kind = 'text'" => BigInt
    );
    Ok(counted.bind::<Binary, _>(Id(chat.uuid())).bind::<BigInt, _>(sequence).get_result(connection)?)
}

#[derive(QueryableByName)]
struct UnreadRow {
    #[diesel(sql_type = Binary)]
    chat_id: Id,
    #[diesel(sql_type = BigInt)]
    read_sequence: i64,
    #[diesel(sql_type = BigInt)]
    last_sequence: i64,
    #[diesel(sql_type = BigInt)]
    counted: i64,
    /// The numbers of [`Examined`] as JSON.
    #[diesel(sql_type = Text)]
    examined: String,
}

/// What a human has not read in those of the chats in which they are.
pub(super) fn unread_on(
    connection: &mut SqliteConnection,
    reader: UserId,
    chats: &[ChatId],
) -> Result<HashMap<ChatId, Unread>, Fault> {
    let rows = diesel::sql_query(format!(
        "SELECT participants.chat_id, read_sequence, last_sequence, texts - read_texts AS counted, \
         (SELECT json_array(count(*) FILTER (WHERE sender_id = ?1), count(*) FILTER (WHERE sender_id <> ?1), \
          count(*) FILTER (WHERE sender_id <> ?1 AND instr(mentions, ?2) > 0)) \
          FROM messages INDEXED BY messages_order WHERE messages.chat_id = chats.id \
          AND sequence > max(read_sequence, last_sequence - {EXAMINED_SEQUENCES}) AND messages.kind = 'text') AS examined \
         FROM participants CROSS JOIN chats ON chats.id = participants.chat_id \
         WHERE participants.chat_id IN ({}) AND participant_id = ?1 AND left_at IS NULL",
        in_list(chats)
    ));
    let rows = rows
        .bind::<Binary, _>(row::bytes(reader.uuid()))
        .bind::<Text, _>(mention_of(ParticipantId::User(reader)))
        .load::<UnreadRow>(connection)?;
    let unread = |found: UnreadRow| {
        let numbers = serde_json::from_str(&found.examined);
        let [own, others, mentions] =
            numbers.map_err(|error| Fault::Row(format!("numbers of messages: {error}")))?;
        let examined = Examined { own, others, mentions };
        let [read, last] = [found.read_sequence, found.last_sequence].map(Sequence::new);
        let unread = Unread::of(read, last, found.counted, examined);
        Ok((ChatId::new(found.chat_id.0), unread))
    };
    rows.into_iter().map(unread).collect()
}
