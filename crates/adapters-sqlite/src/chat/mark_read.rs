//! The marks of humans in chats, and what is unread after them.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Text};
use diesel::sqlite::SqliteConnection;
use domain::chat::{
    COUNTED_SEQUENCES, EXAMINED_SEQUENCES, Examined, MAX_MARKED, MarkRead, MarkReadRefused, MarkedRead,
    MarkedRooms, ReadMark, Unread,
};
use domain::id::{ChatId, MessageId, ParticipantId, Sequence, UserId};

use super::details::in_list;
use super::load::standing_on;
use crate::error::Fault;
use crate::message::row::mention_of;
use crate::row::{self, Id};
use crate::schema::{messages, participants};
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
        "SELECT read_sequence, last_sequence, muted FROM participants CROSS JOIN chats ON chats.id = participants.chat_id \
         WHERE participants.chat_id = ? AND participant_id = ? AND left_at IS NULL" => (BigInt, BigInt, Bool)
    );
    let (read, last, was_muted) = marks
        .bind::<Binary, _>(chat)
        .bind::<Binary, _>(Id(command.by.uuid()))
        .get_result::<(i64, i64, bool)>(connection)?;
    let change = command.change;
    let found = match change.mark.and_then(ReadMark::message) {
        Some(message) => match sequence_on(connection, command.chat, message)? {
            Some(found) => Some(Sequence::new(found)),
            None => return Ok(Err(MarkReadRefused::MessageNotFound)),
        },
        None => None,
    };
    let moved = change.mark.and_then(|mark| mark.moved(Sequence::new(read), Sequence::new(last), found));
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
    let muted = change.muted.filter(|muted| *muted != was_muted);
    if let Some(muted) = muted {
        let membership = (row::bytes(command.chat.uuid()), row::bytes(command.by.uuid()));
        diesel::update(participants::table.find(membership))
            .set(participants::muted.eq(muted))
            .execute(connection)?;
    }
    let unread = unread_on(connection, command.by, &[command.chat])?.remove(&command.chat);
    let changed = moved.is_some() || muted.is_some();
    Ok(unread.map(|unread| MarkedRead { unread, changed }).ok_or(MarkReadRefused::ChatNotFound))
}

pub(super) fn mark_all_read_on(
    connection: &mut SqliteConnection,
    reader: UserId,
) -> Result<MarkedRooms, Fault> {
    let rows = statement!(
        "UPDATE participants SET (read_sequence, read_texts) = \
         (SELECT last_sequence, texts FROM chats WHERE chats.id = participants.chat_id) \
         WHERE participant_id = ? AND chat_id IN (SELECT own.chat_id \
             FROM participants AS own INDEXED BY participants_rooms CROSS JOIN chats ON chats.id = own.chat_id \
             WHERE own.participant_id = ? AND own.left_at IS NULL AND chats.deleted_at IS NULL \
             AND own.read_sequence < chats.last_sequence LIMIT ?) \
         RETURNING chat_id, read_sequence, muted" => (Binary, BigInt, Bool)
    );
    let rows = rows
        .bind::<Binary, _>(Id(reader.uuid()))
        .bind::<Binary, _>(Id(reader.uuid()))
        .bind::<BigInt, _>(i64::try_from(MAX_MARKED).unwrap_or(i64::MAX))
        .load::<(Id, i64, bool)>(connection)?;
    Ok(MarkedRooms::of(
        rows.into_iter().map(|(chat, read, muted)| (ChatId::new(chat.0), Sequence::new(read), muted)),
    ))
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
    #[diesel(sql_type = Bool)]
    muted: bool,
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
        "SELECT participants.chat_id, read_sequence, last_sequence, texts - read_texts AS counted, muted, \
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
        let unread = Unread::of(read, last, found.counted, examined, found.muted);
        Ok((ChatId::new(found.chat_id.0), unread))
    };
    rows.into_iter().map(unread).collect()
}
