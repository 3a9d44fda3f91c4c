//! Deliveries that no socket has acknowledged.

use diesel::sql_types::{Array, BigInt, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::{Listening, Unacknowledged};
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::message::Message;
use domain::page::{NUMBERED_PAGE_BYTES, Order};
use uuid::Uuid;

use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::message::load::{Records, part_on};
use crate::row::At;
use crate::run::Db;
use crate::statement::statement;

/// Seeks the index of new deliveries once per listener.
const STILL_NEW: &str = "SELECT listening.place, messages.sequence, messages.created_at \
     FROM unnest(?, ?, ?, ?) AS listening (place, agent_id, chat_id, since) \
     CROSS JOIN LATERAL (SELECT deliveries.sequence FROM deliveries \
     WHERE deliveries.agent_id = listening.agent_id AND deliveries.chat_id = listening.chat_id \
     AND deliveries.status = 'new' AND deliveries.addressed \
     AND deliveries.sequence > listening.since ORDER BY deliveries.sequence LIMIT ?) AS waiting \
     JOIN messages ON messages.chat_id = listening.chat_id AND messages.sequence = waiting.sequence \
     ORDER BY listening.place, messages.sequence";

pub(super) async fn unacknowledged_on(
    mut db: &Db,
    listening: &[Listening],
    limit: u32,
) -> Result<Vec<(usize, Unacknowledged)>, Fault> {
    if listening.is_empty() {
        return Ok(Vec::new());
    }
    let count = i64::try_from(listening.len()).unwrap_or(i64::MAX);
    let found = statement::<(BigInt, BigInt, Timestamptz)>(STILL_NEW)
        .bind::<Array<BigInt>, _>((0..count).collect::<Vec<_>>())
        .bind::<Array<SqlUuid>, _>(listening.iter().map(|one| one.agent.uuid()).collect::<Vec<_>>())
        .bind::<Array<SqlUuid>, _>(listening.iter().map(|one| one.chat.uuid()).collect::<Vec<_>>())
        .bind::<Array<BigInt>, _>(listening.iter().map(|one| one.since).collect::<Vec<_>>())
        .bind::<BigInt, _>(i64::from(limit))
        .load::<(i64, i64, At)>(&mut db)
        .await?;
    let found = found.into_iter().map(|(place, sequence, written_at)| {
        let place = usize::try_from(place).map_err(|_| Fault::Row(format!("the listener {place}")))?;
        Ok((place, Unacknowledged { sequence, written_at: written_at.0 }))
    });
    found.collect()
}

/// Locks them, which every change of them does first.
const LOCKED: &str = "SELECT id FROM messages WHERE chat_id = ? AND sequence = ANY(?) \
     ORDER BY id FOR NO KEY UPDATE";

const NEW: &str = "SELECT sequence FROM deliveries WHERE agent_id = ? AND chat_id = ? AND status = 'new' \
     AND addressed AND sequence = ANY(?) ORDER BY sequence";

/// Each statement of a change sees the commits before it begins: a delivery that is still new after
/// the messages were locked stays new to the end.
pub(super) async fn new_messages_on(
    mut db: &Db,
    agent: AgentId,
    chat: ChatId,
    places: &[i64],
) -> Result<Vec<Message>, Fault> {
    if places.is_empty() || membership_on(db, ParticipantId::Agent(agent), chat).await?.is_none() {
        return Ok(Vec::new());
    }
    statement::<SqlUuid>(LOCKED)
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<Array<BigInt>, _>(places)
        .load::<Uuid>(&mut db)
        .await?;
    let places = statement::<BigInt>(NEW)
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<Array<BigInt>, _>(places)
        .load::<i64>(&mut db)
        .await?;
    let records = Records::Of(agent);
    Ok(part_on(db, chat, &places, Order::Ascending, records, NUMBERED_PAGE_BYTES).await?.0)
}
