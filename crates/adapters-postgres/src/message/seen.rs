//! Messages as they are right now, and what tells later whether they still are: the versions of their rows (`xmin`,
//! the transaction that wrote a row last).

use std::collections::HashMap;

use diesel::dsl::{AsSelect, SqlTypeOf};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Array, Binary, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::{Attempt, Delivery, SHOWN_ATTEMPTS, SHOWN_ERROR_BYTES, shown_error};
use domain::message::Message;
use futures_util::future::try_join;
use uuid::Uuid;

use super::load::{AttemptHead, DeliveryRow, MESSAGE, MessageRow, RECORD};
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::messages;
use crate::statement::statement;

/// A message with everybody's records, and the versions of their rows.
pub(crate) struct Seen {
    pub(crate) message: Message,
    pub(crate) version: String,
    /// Of each agent's record.
    pub(crate) records: Vec<(Uuid, String)>,
}

/// Those of the messages that there are, by id. Nothing is locked. A record and its attempts are read at one moment; a
/// message may be older than its records, which its version will tell.
pub(crate) async fn seen_on(db: &Db, ids: Vec<Uuid>) -> Result<HashMap<Uuid, Seen>, Fault> {
    let (rows, records) = try_join(rows_on(db, ids.clone()), records_on(db, ids)).await?;
    let mut by_message = HashMap::<Uuid, Vec<(Delivery, String)>>::new();
    for (message, delivery, version) in records {
        by_message.entry(message).or_default().push((delivery, version));
    }
    let with_records = |(row, version): (MessageRow, String)| {
        let id = row.id;
        let (deliveries, versions) =
            by_message.remove(&id).unwrap_or_default().into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        let records = deliveries.iter().map(|delivery| delivery.agent.uuid()).zip(versions).collect();
        Ok((id, Seen { message: row.into_message(deliveries)?, version, records }))
    };
    rows.into_iter().map(with_records).collect()
}

async fn rows_on(mut db: &Db, ids: Vec<Uuid>) -> Result<Vec<(MessageRow, String)>, Fault> {
    let rows = statement::<(messages::SqlType, Text)>(format!(
        "SELECT {MESSAGE}, xmin::text FROM messages WHERE id = ANY(?)"
    ));
    Ok(rows.bind::<Array<SqlUuid>, _>(ids).load(&mut db).await?)
}

/// A record beside one of its newest attempts, or none if it has none.
#[derive(Queryable)]
struct SeenRow {
    record: DeliveryRow,
    version: String,
    number: Option<i32>,
    status: Option<String>,
    started_at: Option<At>,
    completed_at: Option<At>,
    /// Its first bytes, and one more than are shown.
    error: Option<Vec<u8>>,
}

type SeenColumns = (
    SqlTypeOf<AsSelect<DeliveryRow, Pg>>,
    Text,
    Nullable<Integer>,
    Nullable<Text>,
    Nullable<Timestamptz>,
    Nullable<Timestamptz>,
    Nullable<Binary>,
);

/// Each message's records in the order of their agents, each with its newest attempts.
async fn records_on(mut db: &Db, messages: Vec<Uuid>) -> Result<Vec<(Uuid, Delivery, String)>, Fault> {
    let shown = i32::try_from(SHOWN_ATTEMPTS).unwrap_or(i32::MAX);
    let rows = statement::<SeenColumns>(format!(
        "SELECT {RECORD}, deliveries.xmin::text, attempts.number, attempts.status, attempts.started_at, \
         attempts.completed_at, \
         substring(convert_to(attempts.error, 'UTF8') FROM 1 FOR {}) \
         FROM deliveries LEFT JOIN attempts \
         ON attempts.message_id = deliveries.message_id AND attempts.agent_id = deliveries.agent_id \
         AND attempts.number > deliveries.current_attempt - ? \
         WHERE deliveries.message_id = ANY(?) \
         ORDER BY deliveries.message_id, deliveries.agent_id, attempts.number",
        SHOWN_ERROR_BYTES + 1
    ));
    let rows = rows.bind::<Integer, _>(shown).bind::<Array<SqlUuid>, _>(messages);
    let rows = rows.load::<SeenRow>(&mut db).await?;
    let mut seen = Vec::<(Uuid, Delivery, String)>::new();
    for mut row in rows {
        let key = (row.record.message_id, row.record.agent_id);
        let attempt = row.attempt()?;
        let is_another = seen.last().is_none_or(|(message, last, _)| (*message, last.agent.uuid()) != key);
        if is_another {
            seen.push((key.0, row.record.into_delivery(Vec::new())?, row.version));
        }
        if let (Some((_, delivery, _)), Some(attempt)) = (seen.last_mut(), attempt) {
            delivery.attempts.push(attempt);
        }
    }
    Ok(seen)
}

impl SeenRow {
    fn attempt(&mut self) -> Result<Option<Attempt>, Fault> {
        let (Some(number), Some(status), Some(started_at)) =
            (self.number, self.status.take(), self.started_at)
        else {
            return Ok(None);
        };
        let (message_id, agent_id, completed_at) =
            (self.record.message_id, self.record.agent_id, self.completed_at);
        let head = AttemptHead { message_id, agent_id, number, status, started_at, completed_at };
        head.into_attempt(self.error.take().map(shown_error)).map(Some)
    }
}
