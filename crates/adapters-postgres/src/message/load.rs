//! Loads messages with their deliveries: one round trip for a whole page, and another for earlier
//! attempts, if there are any.

use std::collections::{HashMap, HashSet};

use diesel::dsl::{AsSelect, SqlTypeOf};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Binary, Bool, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::{Attempt, SHOWN_ERROR_BYTES, shown_error};
use domain::id::{AgentId, ChatId, MessageId, ParticipantKind, RecordId};
use domain::message::Message;
use domain::page::{Order, Position, fitting, weight};
use futures_util::future::try_join;
use uuid::Uuid;

use super::record_key::{RecordKey, RecordKeys};
use super::row::{DeliveryRow, MessageRow, SenderHandle, stored_attempt};
use crate::error::Fault;
use crate::file::{Attached, fill_on};
use crate::row::At;
use crate::run::Db;
use crate::schema::messages;
use crate::statement::{Statement, statement};

/// The selection of delivery records.
#[derive(Clone, Copy)]
pub(crate) enum Records {
    /// All records.
    All,
    /// Those of one agent.
    Of(AgentId),
}

impl Records {
    /// The records of each of `messages`, as a table `deliveries` that is joined to them.
    ///
    /// A record is found by its agent. The mentions name the agents of all records but those of work
    /// on messages that do not mention the agent, which are rare and have an index.
    pub(crate) fn joined(self) -> String {
        let of_message = "deliveries.chat_id = messages.chat_id AND deliveries.sequence = messages.sequence";
        let agent = ParticipantKind::Agent.as_str();
        match self {
            Self::All => format!(
                "CROSS JOIN LATERAL (\
                 SELECT deliveries.* FROM json_array_elements(messages.mentions::json) AS mention \
                 CROSS JOIN LATERAL (SELECT * FROM deliveries \
                     WHERE deliveries.agent_id = (mention ->> 'id')::uuid AND {of_message} AND deliveries.addressed \
                     OFFSET 0) AS deliveries \
                 WHERE mention ->> 'of' = '{agent}' \
                 UNION ALL \
                 SELECT * FROM deliveries WHERE NOT deliveries.addressed AND {of_message}) AS deliveries"
            ),
            Self::Of(_) => format!(
                "CROSS JOIN LATERAL (\
                 SELECT * FROM deliveries WHERE deliveries.agent_id = ? AND {of_message} OFFSET 0) AS deliveries"
            ),
        }
    }

    /// Binds the value of [`Self::joined`].
    fn bind<Row>(self, statement: Statement<'_, Row>) -> Statement<'_, Row> {
        match self {
            Self::All => statement,
            Self::Of(agent) => statement.bind::<SqlUuid, _>(agent.uuid()),
        }
    }
}

/// The columns of a [`MessageRow`], before [`SenderHandle`].
pub(crate) const MESSAGE: &str = "id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, \
     metadata, created_at, updated_at, cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, \
     traceparent, foreign_origin, respond_by, attachments";

/// The SQL types of a [`MessageRow`].
type MessageColumns = SqlTypeOf<AsSelect<MessageRow, Pg>>;

/// The rows of messages by id; `rest` sets the order, and may lock them.
pub(crate) async fn rows_on(mut db: &Db, ids: Vec<Uuid>, rest: &str) -> Result<Vec<MessageRow>, Fault> {
    let handle = SenderHandle::TEXT;
    let rows = statement::<MessageColumns>(format!(
        "SELECT {MESSAGE}, {handle} FROM messages WHERE id = ANY(?) {rest}"
    ));
    Ok(rows.bind::<Array<SqlUuid>, _>(ids).load(&mut db).await?)
}

/// The columns of a [`DeliveryRow`].
pub(crate) fn record_columns() -> String {
    format!("{}, {}", DeliveryRow::COLUMNS, shown_error_column("deliveries"))
}

/// The SQL types of a [`DeliveryRow`].
pub(crate) type RecordColumns = (
    SqlUuid,
    Bool,
    Integer,
    Nullable<Timestamptz>,
    Nullable<Timestamptz>,
    Nullable<Timestamptz>,
    Nullable<Timestamptz>,
    Nullable<Timestamptz>,
    Nullable<Text>,
    Nullable<Integer>,
    Nullable<Timestamptz>,
    Nullable<SqlUuid>,
    Nullable<Text>,
    Nullable<Timestamptz>,
    Nullable<Binary>,
);

/// The position of a message in lists.
pub(crate) fn position(message: &Message) -> Position {
    Position::at(message.sequence.get(), RecordId::NIL)
}

/// The messages of a chat with these sequences, in the order of `sequences`, which is ascending or
/// descending. Messages at the end that would exceed `budget` are not read; returns whether there
/// were any.
pub(crate) async fn part_on(
    db: &Db,
    chat: ChatId,
    sequences: &[i64],
    order: Order,
    records: Records,
    budget: usize,
) -> Result<(Vec<Message>, bool), Fault> {
    if sequences.is_empty() {
        return Ok((Vec::new(), false));
    }
    let rows = rows_at_on(db, chat, sequences, order, budget);
    let (mut rows, mut found) = try_join(rows, records_at_on(db, chat, sequences, records)).await?;
    let weigh = |row: &MessageRow| {
        let records = found.get(&row.id.0).into_iter().flatten().map(DeliveryRow::weight).sum::<usize>();
        row.weight() + records
    };
    rows.truncate(fitting(budget, rows.iter().map(weigh)));
    let kept = rows.iter().map(|row| row.id.0).collect::<HashSet<_>>();
    found.retain(|id, _| kept.contains(id));
    let cut = rows.len() < sequences.len();
    Ok((assembled_on(db, rows, found).await?, cut))
}

/// The messages of `rows`, in their order.
pub(crate) async fn messages_on(
    db: &Db,
    rows: Vec<MessageRow>,
    records: Records,
) -> Result<Vec<Message>, Fault> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let found = records_on(db, rows.iter().map(|row| row.id.0).collect(), records).await?;
    assembled_on(db, rows, found).await
}

/// One message of a chat by id, with all delivery records.
pub(crate) async fn message_on(db: &Db, chat: ChatId, message: MessageId) -> Result<Option<Message>, Fault> {
    let records = records_on(db, vec![message.uuid()], Records::All);
    let (row, records) = try_join(row_on(db, chat, message), records).await?;
    Ok(assembled_on(db, row, records).await?.pop())
}

/// The message of a chat with this sequence, with a record of it that was read before.
pub(crate) async fn with_record_on(
    mut db: &Db,
    chat: ChatId,
    sequence: i64,
    record: DeliveryRow,
) -> Result<Option<Message>, Fault> {
    let wanted =
        messages::table.filter(messages::chat_id.eq(chat.uuid())).filter(messages::sequence.eq(sequence));
    let rows = wanted.select(MessageRow::as_select()).load::<MessageRow>(&mut db).await?;
    let records = rows.iter().map(|row| row.id.0).zip([vec![record]]).collect();
    Ok(assembled_on(db, rows, records).await?.pop())
}

async fn row_on(mut db: &Db, chat: ChatId, message: MessageId) -> Result<Vec<MessageRow>, Fault> {
    let wanted = messages::table.find(message.uuid()).filter(messages::chat_id.eq(chat.uuid()));
    Ok(wanted.select(MessageRow::as_select()).load(&mut db).await?)
}

/// The rows of a part. A row with more than `budget` before it is not read. The weights are those
/// of [`MessageRow::weight`] without the JSON escapes of the content, so that no row is missed.
async fn rows_at_on(
    mut db: &Db,
    chat: ChatId,
    sequences: &[i64],
    order: Order,
    budget: usize,
) -> Result<Vec<MessageRow>, Fault> {
    let direction = match order {
        Order::Ascending => "ASC",
        Order::Descending => "DESC",
    };
    let handle = SenderHandle::TEXT;
    let rows = statement::<MessageColumns>(format!(
        "SELECT {MESSAGE}, {handle} FROM (SELECT messages.*, sum(? + octet_length(content) + 2 * octet_length(mentions) \
               + coalesce(octet_length(metadata), 0)) \
               OVER (ORDER BY sequence {direction} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before \
               FROM messages WHERE chat_id = ? AND sequence = ANY(?)) AS part \
         WHERE coalesce(before, 0) <= ? ORDER BY sequence {direction}"
    ));
    let rows = rows
        .bind::<Integer, _>(i32::try_from(weight::MESSAGE_BYTES).unwrap_or(0))
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<Array<BigInt>, _>(sequences)
        .bind::<BigInt, _>(i64::try_from(budget).unwrap_or(i64::MAX));
    Ok(rows.load(&mut db).await?)
}

/// Delivery records by message id.
type RecordRows = HashMap<Uuid, Vec<DeliveryRow>>;

/// The delivery records of messages.
async fn records_on(mut db: &Db, messages: Vec<Uuid>, wanted: Records) -> Result<RecordRows, Fault> {
    let records = statement::<(SqlUuid, RecordColumns)>(format!(
        "SELECT messages.id, {} FROM messages {} WHERE messages.id = ANY(?) ORDER BY deliveries.agent_id",
        record_columns(),
        wanted.joined(),
    ));
    let records = wanted.bind(records).bind::<Array<SqlUuid>, _>(messages);
    Ok(by_message(records.load(&mut db).await?))
}

/// The delivery records of the messages of a chat with these sequences, so that no ids are needed.
async fn records_at_on(
    mut db: &Db,
    chat: ChatId,
    sequences: &[i64],
    wanted: Records,
) -> Result<RecordRows, Fault> {
    let records = statement::<(SqlUuid, RecordColumns)>(format!(
        "SELECT messages.id, {} FROM messages {} \
         WHERE messages.chat_id = ? AND messages.sequence = ANY(?) ORDER BY deliveries.agent_id",
        record_columns(),
        wanted.joined(),
    ));
    let records = wanted.bind(records).bind::<SqlUuid, _>(chat.uuid()).bind::<Array<BigInt>, _>(sequences);
    Ok(by_message(records.load(&mut db).await?))
}

fn by_message(records: Vec<(Uuid, DeliveryRow)>) -> RecordRows {
    let mut by_message = RecordRows::new();
    for (message, record) in records {
        by_message.entry(message).or_default().push(record);
    }
    by_message
}

/// The first bytes of the error in a row of `table`, as [`shown_error`] reads them.
pub(crate) fn shown_error_column(table: &str) -> String {
    format!("substring(convert_to({table}.error, 'UTF8') FROM 1 FOR {})", SHOWN_ERROR_BYTES + 1)
}

/// The attempts of records after a number each, oldest first.
pub(crate) async fn earlier_on(
    mut db: &Db,
    wanted: impl Iterator<Item = (RecordKey, i32)>,
) -> Result<HashMap<RecordKey, Vec<Attempt>>, Fault> {
    let mut earlier = HashMap::<_, Vec<Attempt>>::new();
    let (keys, after) = wanted.unzip::<_, _, RecordKeys, Vec<_>>();
    if keys.is_empty() {
        return Ok(earlier);
    }
    let found = statement::<(SqlUuid, SqlUuid, BigInt, Integer, Timestamptz, Timestamptz, Nullable<Binary>)>(
        format!(
            "SELECT attempts.agent_id, attempts.chat_id, attempts.sequence, attempts.number, attempts.started_at, \
             attempts.completed_at, {} FROM unnest(?, ?, ?, ?) AS wanted (agent_id, chat_id, sequence, after) \
             JOIN attempts ON attempts.agent_id = wanted.agent_id AND attempts.chat_id = wanted.chat_id \
             AND attempts.sequence = wanted.sequence AND attempts.number > wanted.after ORDER BY attempts.number",
            shown_error_column("attempts"),
        ),
    );
    let found = keys
        .bind(found)
        .bind::<Array<Integer>, _>(after)
        .load::<(Uuid, Uuid, i64, i32, At, At, Option<Vec<u8>>)>(&mut db)
        .await?;
    for (agent, chat, sequence, number, At(started_at), At(completed_at), error) in found {
        let attempt = stored_attempt(number, started_at, completed_at, error.map(shown_error))?;
        earlier.entry((agent, chat, sequence)).or_default().push(attempt);
    }
    Ok(earlier)
}

/// The messages of `rows` with their records, and these with their attempts.
async fn assembled_on(
    db: &Db,
    rows: Vec<MessageRow>,
    mut records: RecordRows,
) -> Result<Vec<Message>, Fault> {
    let key = |row: &MessageRow, record: &DeliveryRow| (record.agent_id.0, row.chat_id.0, row.sequence);
    let mut retried = Vec::new();
    for row in &rows {
        for record in records.get(&row.id.0).into_iter().flatten() {
            retried.extend(record.earlier_after().map(|after| (key(row, record), after)));
        }
    }
    let mut earlier = earlier_on(db, retried.into_iter()).await?;
    let attached = Attached::of(&rows)?;
    let with_records = |row: MessageRow| {
        let records = records.remove(&row.id.0).unwrap_or_default().into_iter().map(|record| {
            let attempts = earlier.remove(&key(&row, &record));
            record.into_delivery(attempts.unwrap_or_default())
        });
        let records = records.collect::<Result<Vec<_>, _>>()?;
        row.into_message(records)
    };
    let mut messages = rows.into_iter().map(with_records).collect::<Result<Vec<_>, _>>()?;
    fill_on(db, &mut messages, attached).await?;
    Ok(messages)
}
