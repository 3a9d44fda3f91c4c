//! Messages out of their rows, each with its deliveries: three statements for a whole page.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::delivery::{Attempt, AttemptNumber, AttemptStatus, Delivery, DeliveryStatus, SHOWN_ATTEMPTS};
use domain::id::{AgentId, MessageId, ParticipantKind, parse_uuid};
use domain::message::{Mention, MentionKind, Message, MessageKind};
use domain::page::Position;
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
    Position { key: message.sequence, id: Uuid::nil() }
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
    let ids = rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>();
    let mut records = records_on(connection, &ids, records)?;
    let with_records = |row: MessageRow| {
        let deliveries = records.remove(&row.id).unwrap_or_default();
        row.into_message(deliveries)
    };
    rows.into_iter().map(with_records).collect()
}

impl MessageRow {
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
    delivered_at: Option<i64>,
    processed_at: Option<i64>,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = attempts)]
pub(crate) struct AttemptRow {
    message_id: Vec<u8>,
    agent_id: Vec<u8>,
    number: i32,
    status: String,
    started_at: i64,
    completed_at: Option<i64>,
    error: Option<String>,
}

impl DeliveryRow {
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

impl AttemptRow {
    pub(crate) fn into_attempt(self) -> Result<Attempt, Fault> {
        let number =
            u32::try_from(self.number).map_err(|_| Fault::Row(format!("the attempt {}", self.number)))?;
        Ok(Attempt {
            number: AttemptNumber(number),
            status: row::word(&self.status, AttemptStatus::parse)?,
            started_at: row::time(self.started_at),
            completed_at: self.completed_at.map(row::time),
            error: self.error,
        })
    }
}

/// The delivery records of messages, by message id; of each record the newest attempts.
fn records_on(
    connection: &mut SqliteConnection,
    ids: &[Vec<u8>],
    wanted: Records,
) -> Result<HashMap<Vec<u8>, Vec<Delivery>>, Fault> {
    let mut rows = deliveries::table
        .filter(deliveries::message_id.eq_any(ids))
        .select(DeliveryRow::as_select())
        .into_boxed();
    let shown = i32::try_from(SHOWN_ATTEMPTS).unwrap_or(i32::MAX);
    let mut tries = attempts::table
        .inner_join(deliveries::table.on(
            deliveries::message_id.eq(attempts::message_id).and(deliveries::agent_id.eq(attempts::agent_id)),
        ))
        .filter(attempts::message_id.eq_any(ids))
        .filter(attempts::number.gt(deliveries::current_attempt - shown))
        .select(AttemptRow::as_select())
        .into_boxed();
    if let Records::Of(agent) = wanted {
        let agent = row::bytes(agent.uuid());
        rows = rows.filter(deliveries::agent_id.eq(agent.clone()));
        tries = tries.filter(attempts::agent_id.eq(agent));
    }
    let mut by_delivery: HashMap<(Vec<u8>, Vec<u8>), Vec<Attempt>> = HashMap::new();
    for mut attempt in tries.order(attempts::number).load::<AttemptRow>(connection)? {
        let key = (std::mem::take(&mut attempt.message_id), std::mem::take(&mut attempt.agent_id));
        by_delivery.entry(key).or_default().push(attempt.into_attempt()?);
    }
    let mut by_message: HashMap<Vec<u8>, Vec<Delivery>> = HashMap::new();
    for delivery in rows.order(deliveries::agent_id).load::<DeliveryRow>(connection)? {
        let message = delivery.message_id.clone();
        let attempts = by_delivery.remove(&(message.clone(), delivery.agent_id.clone())).unwrap_or_default();
        by_message.entry(message).or_default().push(delivery.into_delivery(attempts)?);
    }
    Ok(by_message)
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

fn stored_mentions(column: &str) -> Result<Vec<Mention>, Fault> {
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
