//! Messages out of their rows, each with its deliveries: three statements for a whole page.

use std::collections::HashMap;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Binary, Nullable};
use diesel::sqlite::SqliteConnection;
use domain::delivery::{
    Attempt, AttemptNumber, AttemptStatus, Delivery, DeliveryStatus, SHOWN_ATTEMPTS, SHOWN_ERROR_BYTES,
    shown_error,
};
use domain::id::{AgentId, MessageId, ParticipantKind, parse_uuid};
use domain::message::{Mention, MentionKind, Message, MessageKind};
use domain::page::{Order, Position, fitting, weight};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::Fault;
use crate::row;
use crate::schema::{attempts, deliveries, messages};

/// A row of `messages`.
#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = messages)]
pub(crate) struct MessageRow {
    pub(crate) id: Vec<u8>,
    pub(crate) chat_id: Vec<u8>,
    pub(crate) sequence: i64,
    pub(crate) kind: String,
    pub(crate) content: String,
    pub(crate) sender_id: Vec<u8>,
    pub(crate) sender_kind: String,
    pub(crate) sender_name: String,
    pub(crate) mentions: String,
    pub(crate) metadata: Option<String>,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
}

/// Whose delivery records are wanted.
#[derive(Clone, Copy)]
pub(crate) enum Records {
    /// Everybody's.
    All,
    /// One agent's own.
    Of(AgentId),
}

/// Where a message stands in every list.
pub(crate) fn position(message: &Message) -> Position {
    Position::at(message.sequence, Uuid::nil())
}

/// The messages of a room at these places, in the order of `places`, which is the room's own or
/// its reverse. Messages at the end that would weigh more than `budget` are not read; tells
/// whether there were any.
pub(crate) fn part_on(
    connection: &mut SqliteConnection,
    chat: domain::id::ChatId,
    places: &[i64],
    order: Order,
    records: Records,
    budget: usize,
) -> Result<(Vec<Message>, bool), Fault> {
    if places.is_empty() {
        return Ok((Vec::new(), false));
    }
    let wanted = messages::table
        .filter(messages::chat_id.eq(row::bytes(chat.uuid())))
        .filter(messages::sequence.eq_any(places))
        .select(MessageRow::as_select());
    let mut rows = Vec::with_capacity(places.len());
    // One by one, so that no more is in memory than the page may hold, and one message.
    let mut bytes = 0;
    let mut keep = |row: MessageRow| {
        bytes += row.weight();
        rows.push(row);
        bytes <= budget
    };
    match order {
        Order::Ascending => {
            for row in wanted.order(messages::sequence.asc()).load_iter(connection)? {
                if !keep(row?) {
                    break;
                }
            }
        }
        Order::Descending => {
            for row in wanted.order(messages::sequence.desc()).load_iter(connection)? {
                if !keep(row?) {
                    break;
                }
            }
        }
    }
    let mut found = records_of(connection, &rows, records)?;
    let weigh = |row: &MessageRow| {
        let attempts = found.get(&row.id).into_iter().flatten().map(DeliveryRow::weight).sum::<usize>();
        row.weight() + attempts
    };
    rows.truncate(fitting(budget, rows.iter().map(weigh)));
    found.retain(|id, _| rows.iter().any(|row| row.id == *id));
    let cut = rows.len() < places.len();
    Ok((with_attempts_on(connection, rows, found, records)?, cut))
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
    with_attempts_on(connection, rows, found, records)
}

impl MessageRow {
    /// About how many bytes of an answer it takes.
    fn weight(&self) -> usize {
        let metadata = self.metadata.as_ref().map_or(0, String::len);
        weight::of_message(&self.content, self.mentions.len(), metadata)
    }

    pub(crate) fn into_message(self, deliveries: Vec<Delivery>) -> Result<Message, Fault> {
        Ok(Message {
            id: row::message_id(&self.id)?,
            chat_id: row::chat_id(&self.chat_id)?,
            sequence: self.sequence,
            kind: row::word(&self.kind, MessageKind::parse)?,
            content: self.content,
            sender: row::participant_id(&self.sender_kind, &self.sender_id)?,
            sender_name: self.sender_name,
            mentions: stored_mentions(&self.mentions)?,
            metadata: self.metadata.as_deref().map(row::json).transpose()?,
            created_at: row::time(self.created_at),
            updated_at: row::time(self.updated_at),
            deliveries,
        })
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = deliveries)]
pub(crate) struct DeliveryRow {
    message_id: Vec<u8>,
    agent_id: Vec<u8>,
    addressed: bool,
    status: String,
    current_attempt: i32,
    delivered_at: Option<i64>,
    processed_at: Option<i64>,
}

/// An attempt with its whole error.
#[derive(Queryable, Selectable)]
#[diesel(table_name = attempts)]
pub(crate) struct AttemptRow {
    #[diesel(embed)]
    head: AttemptHead,
    error: Option<String>,
}

impl DeliveryRow {
    /// About how many bytes of an answer it takes.
    fn weight(&self) -> usize {
        weight::of_record(u32::try_from(self.current_attempt).unwrap_or(0))
    }

    pub(crate) fn into_delivery(self, attempts: Vec<Attempt>) -> Result<Delivery, Fault> {
        Ok(Delivery {
            agent: row::agent_id(&self.agent_id)?,
            addressed: self.addressed,
            status: row::word(&self.status, DeliveryStatus::parse)?,
            delivered_at: self.delivered_at.map(row::time),
            processed_at: self.processed_at.map(row::time),
            attempts,
        })
    }
}

impl AttemptHead {
    fn into_attempt(self, error: Option<String>) -> Result<Attempt, Fault> {
        let number =
            u32::try_from(self.number).map_err(|_| Fault::Row(format!("the attempt {}", self.number)))?;
        Ok(Attempt {
            number: AttemptNumber(number),
            status: row::word(&self.status, AttemptStatus::parse)?,
            started_at: row::time(self.started_at),
            completed_at: self.completed_at.map(row::time),
            error,
        })
    }
}

impl AttemptRow {
    /// With the whole error.
    pub(crate) fn into_attempt(self) -> Result<Attempt, Fault> {
        self.head.into_attempt(self.error)
    }
}

/// Delivery records by message id.
type RecordRows = HashMap<Vec<u8>, Vec<DeliveryRow>>;

/// The delivery records of messages.
fn records_of(
    connection: &mut SqliteConnection,
    rows: &[MessageRow],
    wanted: Records,
) -> Result<RecordRows, Fault> {
    let mut records = deliveries::table
        .filter(deliveries::message_id.eq_any(rows.iter().map(|row| &row.id)))
        .select(DeliveryRow::as_select())
        .into_boxed();
    if let Records::Of(agent) = wanted {
        records = records.filter(deliveries::agent_id.eq(row::bytes(agent.uuid())));
    }
    let mut by_message = RecordRows::new();
    for record in records.order(deliveries::agent_id).load::<DeliveryRow>(connection)? {
        by_message.entry(record.message_id.clone()).or_default().push(record);
    }
    Ok(by_message)
}

/// The first bytes of an attempt's error, and one more than are shown.
#[derive(Queryable)]
struct ShownAttemptRow {
    attempt: AttemptHead,
    error: Option<Vec<u8>>,
}

/// An attempt without its error.
#[derive(Queryable, Selectable)]
#[diesel(table_name = attempts)]
pub(crate) struct AttemptHead {
    message_id: Vec<u8>,
    agent_id: Vec<u8>,
    number: i32,
    status: String,
    started_at: i64,
    completed_at: Option<i64>,
}

/// The messages of `rows` with these records; of each record the newest attempts.
fn with_attempts_on(
    connection: &mut SqliteConnection,
    rows: Vec<MessageRow>,
    mut records: RecordRows,
    wanted: Records,
) -> Result<Vec<Message>, Fault> {
    let worked_on = records.iter().filter(|(_, records)| records.iter().any(|r| r.current_attempt > 0));
    let ids = worked_on.map(|(id, _)| id.clone()).collect::<Vec<_>>();
    let mut tries: HashMap<(Vec<u8>, Vec<u8>), Vec<Attempt>> = HashMap::new();
    if !ids.is_empty() {
        let shown = i32::try_from(SHOWN_ATTEMPTS).unwrap_or(i32::MAX);
        let error = format!("substr(CAST(attempts.error AS BLOB), 1, {})", SHOWN_ERROR_BYTES + 1);
        let mut found = attempts::table
            .inner_join(
                deliveries::table.on(deliveries::message_id
                    .eq(attempts::message_id)
                    .and(deliveries::agent_id.eq(attempts::agent_id))),
            )
            .filter(attempts::message_id.eq_any(ids))
            .filter(attempts::number.gt(deliveries::current_attempt - shown))
            .select((AttemptHead::as_select(), sql::<Nullable<Binary>>(&error)))
            .into_boxed();
        if let Records::Of(agent) = wanted {
            found = found.filter(attempts::agent_id.eq(row::bytes(agent.uuid())));
        }
        for ShownAttemptRow { mut attempt, error } in
            found.order(attempts::number).load::<ShownAttemptRow>(connection)?
        {
            let key = (std::mem::take(&mut attempt.message_id), std::mem::take(&mut attempt.agent_id));
            tries.entry(key).or_default().push(attempt.into_attempt(error.map(shown_error))?);
        }
    }
    let with_records = |row: MessageRow| {
        let records = records.remove(&row.id).unwrap_or_default().into_iter().map(|record| {
            let key = (record.message_id.clone(), record.agent_id.clone());
            record.into_delivery(tries.remove(&key).unwrap_or_default())
        });
        let records = records.collect::<Result<Vec<_>, _>>()?;
        row.into_message(records)
    };
    rows.into_iter().map(with_records).collect()
}

/// One message of a room by id, with everybody's records.
pub(crate) fn message_on(
    connection: &mut SqliteConnection,
    chat: domain::id::ChatId,
    message: MessageId,
) -> Result<Option<Message>, Fault> {
    let found = messages::table
        .find(row::bytes(message.uuid()))
        .filter(messages::chat_id.eq(row::bytes(chat.uuid())))
        .select(MessageRow::as_select())
        .load(connection)?;
    Ok(messages_on(connection, found, Records::All)?.pop())
}

/// A mention as it is kept in the column `mentions`.
#[derive(Serialize, Deserialize)]
struct StoredMention {
    id: String,
    of: String,
    handle: String,
    name: String,
    kind: String,
}

pub(crate) fn mentions_column(mentions: &[Mention]) -> Result<String, Fault> {
    let stored = mentions.iter().map(|mention| StoredMention {
        id: mention.id.to_string(),
        of: mention.id.kind().as_str().to_owned(),
        handle: mention.handle.clone(),
        name: mention.name.clone(),
        kind: mention.kind.as_str().to_owned(),
    });
    row::to_json(&stored.collect::<Vec<_>>())
}

pub(crate) fn stored_mentions(column: &str) -> Result<Vec<Mention>, Fault> {
    let stored = row::json::<Vec<StoredMention>>(column)?.into_iter().map(|stored| {
        Ok(Mention {
            id: row::word(&stored.of, ParticipantKind::parse)?.with_uuid(row::word(&stored.id, parse_uuid)?),
            handle: stored.handle,
            name: stored.name,
            kind: row::word(&stored.kind, MentionKind::parse)?,
        })
    });
    stored.collect()
}
