//! Loads messages with their deliveries: one round trip for a whole page, and another for the
//! attempts.

use std::collections::{HashMap, HashSet};

use diesel::dsl::{AsSelect, SqlTypeOf};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Binary, Integer, Nullable, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::{Attempt, Delivery, DeliveryKey, SHOWN_ATTEMPTS, SHOWN_ERROR_BYTES, shown_error};
use domain::id::{AgentId, ChatId, MessageId, RecordId};
use domain::message::Message;
use domain::page::{Order, Position, fitting, weight};
use futures_util::future::{try_join, try_join3};
use uuid::Uuid;

use super::row::{MessageRow, SenderHandle, stored_attempt};
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::{attempts, deliveries, messages};
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
    /// The last condition of a statement.
    fn only(self, agent: &str) -> String {
        match self {
            Self::All => String::new(),
            Self::Of(_) => format!(" AND {agent} = ?"),
        }
    }

    /// Binds the value of [`Self::only`].
    fn bind<Row>(self, statement: Statement<'_, Row>) -> Statement<'_, Row> {
        match self {
            Self::All => statement,
            Self::Of(agent) => statement.bind::<SqlUuid, _>(agent.uuid()),
        }
    }
}

/// The columns of a [`MessageRow`], before [`SenderHandle`].
pub(crate) const MESSAGE: &str = "id, chat_id, sequence, kind, content, sender_id, sender_kind, sender_name, mentions, \
     metadata, created_at, updated_at";

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
pub(crate) const RECORD: &str = "deliveries.message_id, deliveries.agent_id, deliveries.addressed, \
     deliveries.current_attempt, deliveries.delivered_at";

/// The SQL types of a [`DeliveryRow`].
type RecordColumns = SqlTypeOf<AsSelect<DeliveryRow, Pg>>;

/// The position of a message in lists.
pub(crate) fn position(message: &Message) -> Position {
    Position::at(message.sequence.get(), RecordId::NIL)
}

/// The messages of a chat with these sequences, in the order of `places`, which is ascending or
/// descending. Messages at the end that would exceed `budget` are not read; returns whether there
/// were any.
pub(crate) async fn part_on(
    db: &Db,
    chat: ChatId,
    places: &[i64],
    order: Order,
    records: Records,
    budget: usize,
) -> Result<(Vec<Message>, bool), Fault> {
    if places.is_empty() {
        return Ok((Vec::new(), false));
    }
    let rows = rows_at_on(db, chat, places, order, budget);
    let (mut rows, mut found) = try_join(rows, records_at_on(db, chat, places, records)).await?;
    let weigh = |row: &MessageRow| {
        let records = found.get(&row.id.0).into_iter().flatten().map(DeliveryRow::weight).sum::<usize>();
        row.weight() + records
    };
    rows.truncate(fitting(budget, rows.iter().map(weigh)));
    let kept = rows.iter().map(|row| row.id.0).collect::<HashSet<_>>();
    found.retain(|id, _| kept.contains(id));
    let cut = rows.len() < places.len();
    let worked_on = found.iter().filter(|(_, records)| records.iter().any(|r| r.current_attempt > 0));
    let worked_on = worked_on.map(|(id, _)| *id).collect::<Vec<_>>();
    let tries = if worked_on.is_empty() {
        AttemptsByDelivery::new()
    } else {
        tries_on(db, worked_on, records).await?
    };
    Ok((assembled(rows, found, tries)?, cut))
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
    let ids = rows.iter().map(|row| row.id.0).collect::<Vec<_>>();
    let found = records_on(db, ids.clone(), records);
    let (found, tries) = try_join(found, tries_on(db, ids, records)).await?;
    assembled(rows, found, tries)
}

/// One message of a chat by id, with all delivery records.
pub(crate) async fn message_on(db: &Db, chat: ChatId, message: MessageId) -> Result<Option<Message>, Fault> {
    let id = || vec![message.uuid()];
    let (records, tries) = (records_on(db, id(), Records::All), tries_on(db, id(), Records::All));
    let (row, records, tries) = try_join3(row_on(db, chat, message), records, tries).await?;
    Ok(assembled(row, records, tries)?.pop())
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
    places: &[i64],
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
        .bind::<Array<BigInt>, _>(places)
        .bind::<BigInt, _>(i64::try_from(budget).unwrap_or(i64::MAX));
    Ok(rows.load(&mut db).await?)
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = deliveries)]
pub(crate) struct DeliveryRow {
    message_id: Uuid,
    agent_id: Uuid,
    addressed: bool,
    current_attempt: i32,
    delivered_at: Option<At>,
}

/// An attempt with its complete error.
#[derive(Queryable, Selectable)]
#[diesel(table_name = attempts)]
pub(crate) struct AttemptRow {
    #[diesel(embed)]
    head: AttemptHead,
    error: Option<String>,
}

impl DeliveryRow {
    /// The approximate size in an answer.
    fn weight(&self) -> usize {
        weight::of_record(u32::try_from(self.current_attempt).unwrap_or(0))
    }

    pub(crate) fn into_delivery(self, attempts: Vec<Attempt>) -> Result<Delivery, Fault> {
        let (agent, delivered_at) = (AgentId::new(self.agent_id), self.delivered_at.map(|at| at.0));
        Delivery::restore(agent, self.addressed, delivered_at, attempts).map_err(|inconsistent| {
            Fault::Row(format!("{inconsistent}: agent {agent}, message {}", self.message_id))
        })
    }
}

impl AttemptHead {
    fn into_attempt(self, error: Option<String>) -> Result<Attempt, Fault> {
        let completed_at = self.completed_at.map(|at| at.0);
        stored_attempt(self.number, &self.status, self.started_at.0, completed_at, error)
    }
}

impl AttemptRow {
    /// Converts it with its complete error.
    pub(crate) fn into_attempt(self) -> Result<Attempt, Fault> {
        self.head.into_attempt(self.error)
    }
}

/// Delivery records by message id.
type RecordRows = HashMap<Uuid, Vec<DeliveryRow>>;

/// The delivery records of messages.
async fn records_on(mut db: &Db, messages: Vec<Uuid>, wanted: Records) -> Result<RecordRows, Fault> {
    let records = statement::<RecordColumns>(format!(
        "SELECT {RECORD} FROM deliveries WHERE message_id = ANY(?){} ORDER BY agent_id",
        wanted.only("agent_id"),
    ));
    let records = wanted.bind(records.bind::<Array<SqlUuid>, _>(messages));
    Ok(by_message(records.load(&mut db).await?))
}

/// The delivery records of the messages of a chat with these sequences, so that no ids are needed.
async fn records_at_on(
    mut db: &Db,
    chat: ChatId,
    places: &[i64],
    wanted: Records,
) -> Result<RecordRows, Fault> {
    let records = statement::<RecordColumns>(format!(
        "SELECT {RECORD} FROM deliveries JOIN messages ON messages.id = deliveries.message_id \
         WHERE messages.chat_id = ? AND messages.sequence = ANY(?){} ORDER BY deliveries.agent_id",
        wanted.only("deliveries.agent_id"),
    ));
    let records = records.bind::<SqlUuid, _>(chat.uuid()).bind::<Array<BigInt>, _>(places);
    Ok(by_message(wanted.bind(records).load(&mut db).await?))
}

fn by_message(records: Vec<DeliveryRow>) -> RecordRows {
    let mut by_message = RecordRows::new();
    for record in records {
        by_message.entry(record.message_id).or_default().push(record);
    }
    by_message
}

/// The first bytes of an attempt's error, and one more than is shown.
#[derive(Queryable)]
struct ShownAttemptRow {
    attempt: AttemptHead,
    error: Option<Vec<u8>>,
}

/// The first bytes of an attempt's error, as [`shown_error`] reads them.
pub(crate) fn shown_error_column() -> String {
    format!("substring(convert_to(attempts.error, 'UTF8') FROM 1 FOR {})", SHOWN_ERROR_BYTES + 1)
}

/// The newest attempts of one record, oldest first.
#[derive(Queryable)]
pub(crate) struct AttemptsRow {
    numbers: Vec<i32>,
    statuses: Vec<String>,
    started: Vec<At>,
    completed: Vec<Option<At>>,
    errors: Vec<Option<Vec<u8>>>,
}

impl AttemptsRow {
    pub(crate) fn into_attempts(self) -> Result<Vec<Attempt>, Fault> {
        let words = self.numbers.into_iter().zip(self.statuses);
        let times = self.started.into_iter().zip(self.completed);
        let rows = words.zip(times).zip(self.errors);
        let attempts = rows.map(|(((number, status), (started_at, completed_at)), error)| {
            let completed_at = completed_at.map(|at| at.0);
            stored_attempt(number, &status, started_at.0, completed_at, error.map(shown_error))
        });
        attempts.collect()
    }
}

/// An attempt without its error.
#[derive(Queryable, Selectable)]
#[diesel(table_name = attempts)]
pub(crate) struct AttemptHead {
    message_id: Uuid,
    agent_id: Uuid,
    number: i32,
    status: String,
    started_at: At,
    completed_at: Option<At>,
}

/// The attempts of deliveries, oldest first.
type AttemptsByDelivery = HashMap<DeliveryKey, Vec<Attempt>>;

fn key(message: Uuid, agent: Uuid) -> DeliveryKey {
    DeliveryKey { message: MessageId::new(message), agent: AgentId::new(agent) }
}

/// The newest attempts of each of the messages' records.
async fn tries_on(mut db: &Db, messages: Vec<Uuid>, wanted: Records) -> Result<AttemptsByDelivery, Fault> {
    let shown = i32::try_from(SHOWN_ATTEMPTS).unwrap_or(i32::MAX);
    let error = shown_error_column();
    let found = statement::<(SqlTypeOf<AsSelect<AttemptHead, Pg>>, Nullable<Binary>)>(format!(
        "SELECT attempts.message_id, attempts.agent_id, attempts.number, attempts.status, attempts.started_at, \
         attempts.completed_at, {error} FROM attempts JOIN deliveries \
         ON deliveries.message_id = attempts.message_id AND deliveries.agent_id = attempts.agent_id \
         WHERE attempts.message_id = ANY(?) AND attempts.number > deliveries.current_attempt - ?{} \
         ORDER BY attempts.number",
        wanted.only("attempts.agent_id"),
    ));
    let found = wanted.bind(found.bind::<Array<SqlUuid>, _>(messages).bind::<Integer, _>(shown));
    let mut tries = AttemptsByDelivery::new();
    let found = found.load::<ShownAttemptRow>(&mut db).await?;
    for ShownAttemptRow { attempt, error } in found {
        let key = key(attempt.message_id, attempt.agent_id);
        tries.entry(key).or_default().push(attempt.into_attempt(error.map(shown_error))?);
    }
    Ok(tries)
}

/// The messages of `rows` with their records, and these with their attempts.
fn assembled(
    rows: Vec<MessageRow>,
    mut records: RecordRows,
    mut tries: AttemptsByDelivery,
) -> Result<Vec<Message>, Fault> {
    let with_records = |row: MessageRow| {
        let records = records.remove(&row.id.0).unwrap_or_default().into_iter().map(|record| {
            let key = key(record.message_id, record.agent_id);
            record.into_delivery(tries.remove(&key).unwrap_or_default())
        });
        let records = records.collect::<Result<Vec<_>, _>>()?;
        row.into_message(records)
    };
    rows.into_iter().map(with_records).collect()
}
