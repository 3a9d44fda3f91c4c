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
use crate::schema::messages;
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
    let chat = Id(command.chat.uuid());
    let marks = statement!(
        "SELECT read_sequence, last_sequence FROM participants CROSS JOIN chats ON chats.id = participants.chat_id \
         WHERE participants.chat_id = ? AND participant_id = ? AND left_at IS NULL" => (BigInt, BigInt)
    );
    let (read, last) = marks
        .bind::<Binary, _>(chat)
        .bind::<Binary, _>(Id(command.by.uuid()))
        .get_result::<(i64, i64)>(connection)?;
    let found = match command.mark.message() {
        Some(message) => match sequence_on(connection, command.chat, message)? {
            Some(found) => Some(Sequence::new(found)),
            None => return Ok(Err(MarkReadRefused::MessageNotFound)),
        },
        None => None,
    };
    let moved = command.mark.moved(Sequence::new(read), Sequence::new(last), found);
    if let Some(to) = moved {
        statement!(
            "UPDATE participants SET read_sequence = ?, read_texts = (SELECT texts FROM chats WHERE chats.id = chat_id) \
             - (SELECT count(*) FROM messages INDEXED BY messages_order WHERE messages.chat_id = participants.chat_id \
                AND sequence > ? AND messages.kind = 'text') \
             WHERE chat_id = ? AND participant_id = ?"
        )
        .bind::<BigInt, _>(to.get())
        .bind::<BigInt, _>(to.get().max(last - i64::from(COUNTED_SEQUENCES)))
        .bind::<Binary, _>(chat)
        .bind::<Binary, _>(Id(command.by.uuid()))
        .execute(connection)?;
    }
    let unread = unread_on(connection, command.by, &[command.chat])?.remove(&command.chat);
    let moved = moved.is_some();
    Ok(unread.map(|unread| MarkedRead { unread, moved }).ok_or(MarkReadRefused::ChatNotFound))
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

/// What a human has not read in those of the chats in which they are. Messages are only read where texts were counted: in
/// this store, reading the columns behind a long text takes time.
pub(super) fn unread_on(
    connection: &mut SqliteConnection,
    reader: UserId,
    chats: &[ChatId],
) -> Result<HashMap<ChatId, Unread>, Fault> {
    let rows = diesel::sql_query(format!(
        "SELECT participants.chat_id, read_sequence, last_sequence, texts - read_texts AS counted, \
         CASE WHEN texts = read_texts THEN '[0,0,0]' ELSE (SELECT json_array(count(*) FILTER (WHERE sender_id = ?1), count(*) FILTER (WHERE sender_id <> ?1), \
          count(*) FILTER (WHERE sender_id <> ?1 AND instr(mentions, ?2) > 0)) \
          FROM messages INDEXED BY messages_order WHERE messages.chat_id = chats.id \
          AND sequence > max(read_sequence, last_sequence - {EXAMINED_SEQUENCES}) AND messages.kind = 'text') END AS examined \
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
