//! Loads messages with their deliveries: one round trip for a whole page, and another for earlier
//! attempts, if there are any.

use std::collections::HashMap;

use diesel::dsl::SqlTypeOf;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Binary, Bool, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::{Attempt, SHOWN_ERROR_BYTES, shown_error};
use domain::id::{AgentId, ChatId, MessageId, ParticipantKind, RecordId};
use domain::message::Message;
use domain::page::weight::MESSAGE_BYTES;
use domain::page::{Order, Position, fitting};
use futures_util::future::try_join;
use uuid::Uuid;

use super::record_key::{RecordKey, RecordKeys};
use super::row::{DeliveryRow, MessageRow, SenderHandle, stored_attempt};
use super::sequences::direction;
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
pub(crate) const MESSAGE: &str = "messages.id, messages.chat_id, messages.sequence, messages.kind, messages.content, \
     messages.sender_id, messages.sender_kind, messages.sender_name, messages.mentions, messages.metadata, \
     messages.created_at, messages.updated_at, messages.cause_id, messages.root_id, messages.hop, \
     messages.originator_id, messages.originator_kind, messages.ambiguous_cause, messages.traceparent, \
     messages.foreign_origin, messages.respond_by, messages.attachments";

/// The SQL types of a [`MessageRow`].
pub(crate) type MessageColumns = SqlTypeOf<<MessageRow as Selectable<Pg>>::SelectExpression>;

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
    let (rows, records) = try_join(rows, records_at_on(db, chat, sequences, records)).await?;
    let mut rows = with_records(rows, records);
    rows.truncate(fitting(budget, rows.iter().map(weight_of)));
    let cut = rows.len() < sequences.len();
    Ok((assembled_on(db, rows).await?, cut))
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
    let records = records_on(db, rows.iter().map(|row| row.id.0).collect(), records).await?;
    assembled_on(db, with_records(rows, records)).await
}

/// One message of a chat by id, with all delivery records.
pub(crate) async fn message_on(db: &Db, chat: ChatId, message: MessageId) -> Result<Option<Message>, Fault> {
    let records = records_on(db, vec![message.uuid()], Records::All);
    let (row, records) = try_join(row_on(db, chat, message), records).await?;
    Ok(assembled_on(db, with_records(row, records)).await?.pop())
}

async fn row_on(mut db: &Db, chat: ChatId, message: MessageId) -> Result<Vec<MessageRow>, Fault> {
    let wanted = messages::table.find(message.uuid()).filter(messages::chat_id.eq(chat.uuid()));
    Ok(wanted.select(MessageRow::as_select()).load(&mut db).await?)
}

/// The sum of the weights of the rows of `messages` before a row, as a column. The weights are those of
/// [`MessageRow::weight`] without the JSON escapes of the content, so a part without the rows that have more than its budget
/// before them misses none.
pub(super) fn weight_before(order: Order) -> String {
    format!(
        "sum({MESSAGE_BYTES} + octet_length(messages.content) + 2 * octet_length(messages.mentions) \
         + coalesce(octet_length(messages.metadata), 0)) OVER (ORDER BY messages.sequence {} \
         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before",
        direction(order)
    )
}

/// The rows of a part. A row with more than `budget` before it is not read.
async fn rows_at_on(
    mut db: &Db,
    chat: ChatId,
    sequences: &[i64],
    order: Order,
    budget: usize,
) -> Result<Vec<MessageRow>, Fault> {
    let (handle, before, direction) = (SenderHandle::TEXT, weight_before(order), direction(order));
    let rows = statement::<MessageColumns>(format!(
        "SELECT {MESSAGE}, {handle} FROM (SELECT messages.*, {before} FROM messages \
             WHERE chat_id = ? AND sequence = ANY(?)) AS messages \
         WHERE coalesce(before, 0) <= ? ORDER BY sequence {direction}"
    ));
    let rows = rows
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<Array<BigInt>, _>(sequences)
        .bind::<BigInt, _>(i64::try_from(budget).unwrap_or(i64::MAX));
    Ok(rows.load(&mut db).await?)
}

/// A message with its delivery records.
pub(crate) type Recorded = (MessageRow, Vec<DeliveryRow>);

fn with_records(rows: Vec<MessageRow>, mut records: RecordRows) -> Vec<Recorded> {
    let recorded = |row: MessageRow| {
        let records = records.remove(&row.id.0).unwrap_or_default();
        (row, records)
    };
    rows.into_iter().map(recorded).collect()
}

/// The approximate size in an answer.
pub(super) fn weight_of((row, records): &Recorded) -> usize {
    row.weight() + records.iter().map(DeliveryRow::weight).sum::<usize>()
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

/// The messages of `rows`, in their order, with the attempts of their records and their files.
pub(crate) async fn assembled_on(db: &Db, rows: Vec<Recorded>) -> Result<Vec<Message>, Fault> {
    let key = |row: &MessageRow, record: &DeliveryRow| (record.agent_id.0, row.chat_id.0, row.sequence);
    let mut retried = Vec::new();
    for (row, records) in &rows {
        for record in records {
            retried.extend(record.earlier_after().map(|after| (key(row, record), after)));
        }
    }
    // Several callers may read the same record together.
    retried.sort_unstable();
    retried.dedup();
    let earlier = earlier_on(db, retried.into_iter()).await?;
    let attached = Attached::of(rows.iter().map(|(row, _)| row))?;
    let message = |(row, records): Recorded| {
        let records = records.into_iter().map(|record| {
            let attempts = earlier.get(&key(&row, &record)).cloned();
            record.into_delivery(attempts.unwrap_or_default())
        });
        let records = records.collect::<Result<Vec<_>, _>>()?;
        row.into_message(records)
    };
    let mut messages = rows.into_iter().map(message).collect::<Result<Vec<_>, _>>()?;
    fill_on(db, &mut messages, attached).await?;
    Ok(messages)
}
