//! Loads messages with their deliveries: two statements for a whole page, and another for earlier
//! attempts, if there are any.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::delivery::{Attempt, SHOWN_ERROR_BYTES, shown_error};
use domain::id::{AgentId, ChatId, MessageId, RecordId};
use domain::message::Message;
use domain::page::{Order, Position, fitting, weight};
use uuid::Uuid;

use super::row::{DeliveryRow, MessageRow, stored_attempt};
use crate::error::Fault;
use crate::file::{Attached, fill_on};
use crate::row::{self, At, Id};
use crate::schema::messages;
use crate::statement::{Listed, statement};

/// The selection of delivery records.
#[derive(Clone, Copy)]
pub(crate) enum Records {
    /// All records.
    All,
    /// Those of one agent. All messages are of one chat.
    Of(AgentId),
}

/// The position of a message in lists.
pub(crate) fn position(message: &Message) -> Position {
    Position::at(message.sequence.get(), RecordId::NIL)
}

/// The messages of a chat with these sequences, in the order of `sequences`, which is ascending or
/// descending. Messages at the end that would exceed `budget` are not read; returns whether there
/// were any.
pub(crate) fn part_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    sequences: &[i64],
    order: Order,
    records: Records,
    budget: usize,
) -> Result<(Vec<Message>, bool), Fault> {
    if sequences.is_empty() {
        return Ok((Vec::new(), false));
    }
    let all = sequences.len();
    let sequences = &sequences[..fitting(budget, weights_on(connection, chat, sequences)?)];
    let in_chat =
        messages::table.filter(messages::chat_id.eq(row::bytes(chat.uuid()))).select(MessageRow::as_select());
    let mut rows = if let [only] = sequences {
        // A list needs a temporary table.
        in_chat.filter(messages::sequence.eq(*only)).load(connection)?
    } else {
        let wanted = in_chat.filter(Listed::new(messages::sequence, row::to_json(&sequences)?));
        match order {
            Order::Ascending => wanted.order(messages::sequence.asc()).load(connection)?,
            Order::Descending => wanted.order(messages::sequence.desc()).load(connection)?,
        }
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

/// The minimum sizes of the messages with these sequences, in the order of `sequences`, without
/// reading their contents: the weights of [`MessageRow::weight`] without the JSON escapes of the
/// content. A single message is not weighed, as it is read in any case.
fn weights_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    sequences: &[i64],
) -> Result<Vec<usize>, Fault> {
    if sequences.len() == 1 {
        return Ok(vec![0]);
    }
    let weighed = statement!(
        "SELECT octet_length(content) + 2 * octet_length(mentions) + coalesce(octet_length(metadata), 0) \
         FROM json_each(?) AS listed CROSS JOIN messages ON sequence = listed.value AND chat_id = ? \
         ORDER BY listed.key" => BigInt
    );
    let weighed = weighed
        .bind::<Text, _>(row::to_json(&sequences)?)
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

/// The SQL types of a [`DeliveryRow`].
pub(crate) type RecordColumns = (
    Binary,
    Bool,
    Integer,
    Nullable<BigInt>,
    Nullable<BigInt>,
    Nullable<BigInt>,
    Nullable<BigInt>,
    Nullable<BigInt>,
    Nullable<Text>,
    Nullable<Integer>,
    Nullable<BigInt>,
    Nullable<Binary>,
    Nullable<Text>,
    Nullable<BigInt>,
    Nullable<Binary>,
);

/// The first bytes of the column `error`, for [`shown_error`]. Value: [`error_bytes`].
pub(crate) const ERROR: &str = "substr(CAST(error AS BLOB), 1, ?)";

/// The number of bytes by which [`shown_error`] recognizes an error that it has to cut.
pub(crate) fn error_bytes() -> i64 {
    i64::try_from(SHOWN_ERROR_BYTES).unwrap_or(i64::MAX).saturating_add(1)
}

/// The keys of the records of messages, each with the index of its message in a list: one for every
/// agent that the message mentions, even if it has no record, and those of unaddressed records, which
/// have an index. A mention need not address the agent, so a key can be among both. Value: the list,
/// JSON with chat, sequence, and mentions of each message.
pub(crate) const RECORDS: &str = "WITH wanted AS (SELECT key AS ordinal, unhex(value ->> 0) AS chat_id, \
     value ->> 1 AS sequence, value ->> 2 AS mentions FROM json_each(?)), \
     record (ordinal, agent_id, chat_id, sequence) AS (\
     SELECT ordinal, unhex(replace(mention.value ->> 'id', '-', '')), chat_id, sequence \
     FROM wanted CROSS JOIN json_each(mentions) AS mention WHERE mention.value ->> 'of' = 'Agent' \
     UNION SELECT ordinal, agent_id, chat_id, sequence \
     FROM wanted CROSS JOIN deliveries INDEXED BY deliveries_unaddressed USING (chat_id, sequence) \
     WHERE addressed = 0) ";

/// The delivery records of each of the messages, by agent.
fn records_of(
    connection: &mut SqliteConnection,
    rows: &[MessageRow],
    wanted: Records,
) -> Result<Vec<Vec<DeliveryRow>>, Fault> {
    let found = match wanted {
        Records::All => {
            let list = rows.iter().map(|row| (row.chat_id.hex(), row.sequence, &row.mentions));
            let found = statement!(
                RECORDS, "SELECT record.ordinal, ", DeliveryRow::COLUMNS, ", ", ERROR, " FROM record \
                 CROSS JOIN deliveries USING (agent_id, chat_id, sequence)" => (BigInt, RecordColumns)
            );
            found
                .bind::<Text, _>(row::to_json(&list.collect::<Vec<_>>())?)
                .bind::<BigInt, _>(error_bytes())
                .load::<(i64, DeliveryRow)>(connection)?
        }
        Records::Of(agent) => {
            // An agent reads one chat at a time.
            let Some(MessageRow { chat_id, .. }) = rows.first() else { return Ok(Vec::new()) };
            let list = rows.iter().map(|row| row.sequence).collect::<Vec<_>>();
            let found = statement!(
                "SELECT message.key, ", DeliveryRow::COLUMNS, ", ", ERROR, " FROM json_each(?) AS message \
                 CROSS JOIN deliveries ON agent_id = ? AND chat_id = ? AND sequence = message.value"
                => (BigInt, RecordColumns)
            );
            found
                .bind::<BigInt, _>(error_bytes())
                .bind::<Text, _>(row::to_json(&list)?)
                .bind::<Binary, _>(Id(agent.uuid()))
                .bind::<Binary, _>(*chat_id)
                .load(connection)?
        }
    };
    let mut records = rows.iter().map(|_| Vec::new()).collect::<Vec<_>>();
    for (index, record) in found {
        records[listed(index)?].push(record);
    }
    for records in &mut records {
        records.sort_unstable_by_key(|record: &DeliveryRow| record.agent_id);
    }
    Ok(records)
}

/// The messages of `rows`, each with its `records`, and these with their newest attempts.
fn with_attempts_on(
    connection: &mut SqliteConnection,
    rows: Vec<MessageRow>,
    records: Vec<Vec<DeliveryRow>>,
) -> Result<Vec<Message>, Fault> {
    let mut retried = Vec::new();
    for (row, records) in rows.iter().zip(&records) {
        for record in records {
            retried.extend(
                record.earlier_after().map(|after| ((record.agent_id.0, row.chat_id.0, row.sequence), after)),
            );
        }
    }
    let mut earlier = earlier_on(connection, &retried)?;
    let attached = Attached::of(&rows)?;
    let with_records = |(row, records): (MessageRow, Vec<DeliveryRow>)| {
        let records = records.into_iter().map(|record| {
            let attempts = earlier.remove(&(record.agent_id.0, row.chat_id.0, row.sequence));
            record.into_delivery(attempts.unwrap_or_default())
        });
        let records = records.collect::<Result<Vec<_>, _>>()?;
        row.into_message(records)
    };
    let messages = rows.into_iter().zip(records).map(with_records);
    let mut messages = messages.collect::<Result<Vec<_>, _>>()?;
    fill_on(connection, &mut messages, attached)?;
    Ok(messages)
}

/// The key of a delivery's row: agent, chat, and sequence.
pub(crate) type RecordKey = (Uuid, Uuid, i64);

/// The attempts of records after a number each, oldest first, in the form to show.
pub(crate) fn earlier_on(
    connection: &mut SqliteConnection,
    wanted: &[(RecordKey, i32)],
) -> Result<HashMap<RecordKey, Vec<Attempt>>, Fault> {
    let mut earlier = HashMap::<_, Vec<Attempt>>::new();
    if wanted.is_empty() {
        return Ok(earlier);
    }
    let list = wanted
        .iter()
        .map(|((agent, chat, sequence), after)| (Id(*agent).hex(), Id(*chat).hex(), sequence, after));
    let found = statement!(
        "SELECT record.key, number, started_at, completed_at, ", ERROR, " FROM json_each(?) AS record \
         CROSS JOIN attempts ON agent_id = unhex(record.value ->> 0) AND chat_id = unhex(record.value ->> 1) \
         AND sequence = record.value ->> 2 AND number > record.value ->> 3 ORDER BY number"
        => (BigInt, Integer, BigInt, BigInt, Nullable<Binary>)
    );
    let found = found
        .bind::<BigInt, _>(error_bytes())
        .bind::<Text, _>(row::to_json(&list.collect::<Vec<_>>())?)
        .load::<(i64, i32, At, At, Option<Vec<u8>>)>(connection)?;
    for (index, number, At(started_at), At(completed_at), error) in found {
        let attempt = stored_attempt(number, started_at, completed_at, error.map(shown_error))?;
        earlier.entry(wanted[listed(index)?].0).or_default().push(attempt);
    }
    Ok(earlier)
}

/// The index in a list, as `json_each` returns it.
fn listed(key: i64) -> Result<usize, Fault> {
    usize::try_from(key).map_err(|_| Fault::Row(format!("the index {key} in a list")))
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
