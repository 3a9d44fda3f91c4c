//! Loads messages with their deliveries: three statements for a whole page.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::delivery::{Attempt, Delivery, SHOWN_ATTEMPTS, SHOWN_ERROR_BYTES, shown_error};
use domain::id::{AgentId, ChatId, MessageId, RecordId};
use domain::message::Message;
use domain::page::{Order, Position, fitting, weight};

use super::row::{MessageRow, stored_attempt};
use crate::error::Fault;
use crate::row;
use crate::schema::{deliveries, messages};
use crate::statement::{Listed, statement};

/// The selection of delivery records.
#[derive(Clone, Copy)]
pub(crate) enum Records {
    /// All records.
    All,
    /// Those of one agent.
    Of(AgentId),
}

/// The position of a message in lists.
pub(crate) fn position(message: &Message) -> Position {
    Position::at(message.sequence.get(), RecordId::NIL)
}

/// The messages of a chat with these sequences, in the order of `places`, which is ascending or
/// descending. Messages at the end that would exceed `budget` are not read; returns whether there
/// were any.
pub(crate) fn part_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    places: &[i64],
    order: Order,
    records: Records,
    budget: usize,
) -> Result<(Vec<Message>, bool), Fault> {
    if places.is_empty() {
        return Ok((Vec::new(), false));
    }
    let all = places.len();
    let places = &places[..fitting(budget, weights_on(connection, chat, places)?)];
    let wanted = messages::table
        .filter(messages::chat_id.eq(row::bytes(chat.uuid())))
        .filter(Listed::new(messages::sequence, row::to_json(&places)?))
        .select(MessageRow::as_select());
    let mut rows = match order {
        Order::Ascending => wanted.order(messages::sequence.asc()).load(connection)?,
        Order::Descending => wanted.order(messages::sequence.desc()).load(connection)?,
    };
    let mut found = records_of(connection, &rows, records)?;
    let weigh = |(row, records): (&MessageRow, &Vec<DeliveryRow>)| {
        row.weight() + records.iter().map(DeliveryRow::weight).sum::<usize>()
    };
    rows.truncate(fitting(budget, rows.iter().zip(&found).map(weigh)));
    found.truncate(rows.len());
    let cut = rows.len() < all;
    Ok((with_attempts_on(connection, rows, found)?, cut))
}

/// The minimum sizes of the messages with these sequences, in the order of `places`, without
/// reading their contents: the weights of [`MessageRow::weight`] without the JSON escapes of the
/// content. A single message is not weighed, as it is read in any case.
fn weights_on(connection: &mut SqliteConnection, chat: ChatId, places: &[i64]) -> Result<Vec<usize>, Fault> {
    if places.len() == 1 {
        return Ok(vec![0]);
    }
    let weighed = statement!(
        "SELECT octet_length(content) + 2 * octet_length(mentions) + coalesce(octet_length(metadata), 0) \
         FROM json_each(?) AS place CROSS JOIN messages ON sequence = place.value AND chat_id = ? \
         ORDER BY place.key" => BigInt
    );
    let weighed = weighed
        .bind::<Text, _>(row::to_json(&places)?)
        .bind::<Binary, _>(row::bytes(chat.uuid()))
        .load::<i64>(connection)?;
    let weight = |bytes: i64| weight::MESSAGE_BYTES.saturating_add(usize::try_from(bytes).unwrap_or(0));
    Ok(weighed.into_iter().map(weight).collect())
}

/// The messages of `rows`, in their order.
pub(crate) fn messages_on(
    connection: &mut SqliteConnection,
    rows: Vec<MessageRow>,
    records: Records,
) -> Result<Vec<Message>, Fault> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let found = records_of(connection, &rows, records)?;
    with_attempts_on(connection, rows, found)
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = deliveries)]
pub(crate) struct DeliveryRow {
    agent_id: Vec<u8>,
    addressed: bool,
    current_attempt: i32,
    delivered_at: Option<i64>,
}

/// An attempt with its complete error.
#[derive(Queryable)]
pub(crate) struct AttemptRow {
    head: AttemptHead,
    error: Option<String>,
}

impl DeliveryRow {
    /// The approximate size in an answer.
    fn weight(&self) -> usize {
        weight::of_record(u32::try_from(self.current_attempt).unwrap_or(0))
    }

    pub(crate) fn into_delivery(self, attempts: Vec<Attempt>) -> Result<Delivery, Fault> {
        let (agent, delivered_at) = (row::agent_id(&self.agent_id)?, self.delivered_at.map(row::time));
        Delivery::restore(agent, self.addressed, delivered_at, attempts)
            .map_err(|inconsistent| Fault::Row(format!("{inconsistent}: agent {agent}")))
    }
}

impl AttemptHead {
    fn into_attempt(self, error: Option<String>) -> Result<Attempt, Fault> {
        let completed_at = self.completed_at.map(row::time);
        stored_attempt(self.number, &self.status, row::time(self.started_at), completed_at, error)
    }
}

impl AttemptRow {
    /// Converts it with its complete error.
    pub(crate) fn into_attempt(self) -> Result<Attempt, Fault> {
        self.head.into_attempt(self.error)
    }
}

/// The SQL types of a [`DeliveryRow`] after the index of its message in a list.
type RecordColumns = (BigInt, (Binary, Bool, Integer, Nullable<BigInt>));

/// The delivery records of each of the messages.
fn records_of(
    connection: &mut SqliteConnection,
    rows: &[MessageRow],
    wanted: Records,
) -> Result<Vec<Vec<DeliveryRow>>, Fault> {
    let ids = rows.iter().map(|row| row.id.hex());
    let ids = row::to_json(&ids.collect::<Vec<_>>())?;
    let found = match wanted {
        Records::All => statement!(
            "SELECT message.key, agent_id, addressed, current_attempt, delivered_at \
             FROM json_each(?) AS message CROSS JOIN deliveries ON message_id = unhex(message.value) \
             ORDER BY agent_id" => RecordColumns
        )
        .bind::<Text, _>(ids)
        .load::<(i64, DeliveryRow)>(connection)?,
        Records::Of(agent) => statement!(
            "SELECT message.key, agent_id, addressed, current_attempt, delivered_at \
             FROM json_each(?) AS message CROSS JOIN deliveries ON message_id = unhex(message.value) \
             AND agent_id = ?" => RecordColumns
        )
        .bind::<Text, _>(ids)
        .bind::<Binary, _>(row::bytes(agent.uuid()))
        .load(connection)?,
    };
    let mut records = rows.iter().map(|_| Vec::new()).collect::<Vec<_>>();
    for (place, record) in found {
        records[listed(place)?].push(record);
    }
    Ok(records)
}

/// An attempt without its error.
#[derive(Queryable)]
pub(crate) struct AttemptHead {
    number: i32,
    status: String,
    started_at: i64,
    completed_at: Option<i64>,
}

/// The SQL types of an [`AttemptHead`].
pub(crate) type HeadColumns = (Integer, Text, BigInt, Nullable<BigInt>);

/// The messages of `rows`, each with its `records`, and these with their newest attempts.
fn with_attempts_on(
    connection: &mut SqliteConnection,
    rows: Vec<MessageRow>,
    records: Vec<Vec<DeliveryRow>>,
) -> Result<Vec<Message>, Fault> {
    let mut attempts = attempts_of(connection, &rows, &records)?.into_iter();
    let with_records = |(row, records): (MessageRow, Vec<DeliveryRow>)| {
        let records = records.into_iter().map(|record| match record.current_attempt {
            0 => record.into_delivery(Vec::new()),
            _ => record.into_delivery(attempts.next().unwrap_or_default()),
        });
        let records = records.collect::<Result<Vec<_>, _>>()?;
        row.into_message(records)
    };
    rows.into_iter().zip(records).map(with_records).collect()
}

/// The newest attempts, in the form to show, of each record that has any.
fn attempts_of(
    connection: &mut SqliteConnection,
    rows: &[MessageRow],
    records: &[Vec<DeliveryRow>],
) -> Result<Vec<Vec<Attempt>>, Fault> {
    let shown = i32::try_from(SHOWN_ATTEMPTS).unwrap_or(i32::MAX);
    let mut worked_on = Vec::new();
    for (row, records) in rows.iter().zip(records) {
        for record in records.iter().filter(|record| record.current_attempt != 0) {
            let (message, agent) = (row.id.hex(), row::hex(&record.agent_id)?);
            worked_on.push((message, agent, record.current_attempt - shown));
        }
    }
    let mut attempts = worked_on.iter().map(|_| Vec::new()).collect::<Vec<_>>();
    if worked_on.is_empty() {
        return Ok(attempts);
    }
    let found = statement!(
        "SELECT record.key, number, status, started_at, completed_at, \
         substr(CAST(error AS BLOB), 1, ?) FROM json_each(?) AS record \
         CROSS JOIN attempts ON message_id = unhex(record.value ->> 0) \
         AND agent_id = unhex(record.value ->> 1) AND number > record.value ->> 2 ORDER BY number"
        => (BigInt, HeadColumns, Nullable<Binary>)
    );
    let found = found
        .bind::<BigInt, _>(i64::try_from(SHOWN_ERROR_BYTES).unwrap_or(i64::MAX).saturating_add(1))
        .bind::<Text, _>(row::to_json(&worked_on)?)
        .load::<(i64, AttemptHead, Option<Vec<u8>>)>(connection)?;
    for (place, attempt, error) in found {
        attempts[listed(place)?].push(attempt.into_attempt(error.map(shown_error))?);
    }
    Ok(attempts)
}

/// The index in a list, as `json_each` returns it.
fn listed(key: i64) -> Result<usize, Fault> {
    usize::try_from(key).map_err(|_| Fault::Row(format!("the place {key} in a list")))
}

/// One message of a chat by id, with all delivery records.
pub(crate) fn message_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    message: MessageId,
) -> Result<Option<Message>, Fault> {
    let found = message_row_on(connection, chat, message)?;
    Ok(messages_on(connection, found.into_iter().collect(), Records::All)?.pop())
}

/// The row of a message of a chat.
pub(crate) fn message_row_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    message: MessageId,
) -> Result<Option<MessageRow>, Fault> {
    let found = messages::table
        .find(row::bytes(message.uuid()))
        .filter(messages::chat_id.eq(row::bytes(chat.uuid())))
        .select(MessageRow::as_select())
        .get_result(connection)
        .optional()?;
    Ok(found)
}
