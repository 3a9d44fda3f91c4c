//! The newest texts or other messages of chats, for lists.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::SEARCHED_SEQUENCES;
use domain::delivery::SHOWN_ATTEMPTS;
use domain::id::ChatId;
use domain::message::Message;
use domain::page::weight::{ATTEMPT_BYTES, RECORD_BYTES};
use uuid::Uuid;

use super::details::uuids;
use crate::error::Fault;
use crate::message::load::{Records, messages_on};
use crate::message::row::MessageRow;
use crate::run::Db;
use crate::schema::messages;
use crate::statement::statement;

/// A message that is not loaded yet.
#[derive(Clone, Copy)]
pub(super) struct Newest {
    id: Uuid,
    /// The approximate size, with its deliveries.
    pub(super) weight: usize,
}

/// The newest text of each chat, or else its newest message, with a step for each of its records. Lengths are in the head
/// of a row, so no content is read. The search walks back one message at a time; otherwise PostgreSQL would sort all
/// candidates.
pub(super) async fn newest_weights_on(
    mut db: &Db,
    chats: &[ChatId],
) -> Result<HashMap<ChatId, Newest>, Fault> {
    let records = Records::All.joined();
    let rows = statement::<(SqlUuid, SqlUuid, BigInt)>(format!(
        "SELECT messages.chat_id, messages.id, CAST(octet_length(messages.content) \
         + octet_length(messages.mentions) + coalesce(octet_length(messages.metadata), 0) \
         + coalesce((SELECT sum({RECORD_BYTES} + least(current_attempt, {SHOWN_ATTEMPTS}) * {ATTEMPT_BYTES}) \
                     FROM (SELECT 1) AS one {records}), 0) AS bigint) \
         FROM unnest(?) AS chat (id) CROSS JOIN LATERAL (\
             WITH RECURSIVE back AS (\
                 (SELECT sequence, kind, (SELECT last_sequence FROM chats WHERE chats.id = chat.id) AS last \
                  FROM messages AS newest WHERE newest.chat_id = chat.id ORDER BY sequence DESC LIMIT 1) \
                 UNION ALL SELECT before.* FROM back CROSS JOIN LATERAL (\
                     SELECT sequence, kind, back.last FROM messages AS one \
                     WHERE one.chat_id = chat.id AND one.sequence < back.sequence \
                     AND one.sequence > back.last - {SEARCHED_SEQUENCES} ORDER BY sequence DESC LIMIT 1) AS before \
                 WHERE back.kind <> 'text') \
             SELECT sequence FROM back ORDER BY kind = 'text' DESC, sequence DESC LIMIT 1) AS last \
         CROSS JOIN LATERAL (SELECT * FROM messages WHERE messages.chat_id = chat.id \
             AND messages.sequence = last.sequence OFFSET 0) AS messages"
    ));
    let rows = rows.bind::<Array<SqlUuid>, _>(uuids(chats)).load::<(Uuid, Uuid, i64)>(&mut db).await?;
    let newest = |(chat, id, weight)| {
        (ChatId::new(chat), Newest { id, weight: usize::try_from(weight).unwrap_or(usize::MAX) })
    };
    Ok(rows.into_iter().map(newest).collect())
}

/// These messages by chat, with all delivery records.
pub(super) async fn newest_on(
    mut db: &Db,
    newest: impl IntoIterator<Item = Newest>,
) -> Result<HashMap<ChatId, Message>, Fault> {
    let ids = newest.into_iter().map(|message| message.id).collect::<Vec<_>>();
    let rows = messages::table
        .filter(messages::id.eq_any(ids))
        .select(MessageRow::as_select())
        .load(&mut db)
        .await?;
    let newest = messages_on(db, rows, Records::All).await?;
    Ok(newest.into_iter().map(|message| (message.chat_id, message)).collect())
}
