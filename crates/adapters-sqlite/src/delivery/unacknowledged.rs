//! Deliveries that no socket has acknowledged.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::delivery::{Listening, Unacknowledged};
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::message::Message;
use domain::page::{NUMBERED_PAGE_BYTES, Order};

use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::message::load::{Records, part_on};
use crate::row;

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = BigInt)]
    place: i64,
    #[diesel(sql_type = BigInt)]
    sequence: i64,
    #[diesel(sql_type = BigInt)]
    created_at: i64,
}

#[derive(QueryableByName)]
struct Place {
    #[diesel(sql_type = BigInt)]
    sequence: i64,
}

/// One statement, which seeks the index of new deliveries once per listener. That index is named,
/// and its condition repeated, because SQLite would scan all open deliveries.
pub(super) fn unacknowledged_on(
    connection: &mut SqliteConnection,
    listening: &[Listening],
    limit: u32,
) -> Result<Vec<(usize, Unacknowledged)>, Fault> {
    if listening.is_empty() {
        return Ok(Vec::new());
    }
    let values = vec!["(?, ?, ?, ?)"; listening.len()].join(", ");
    let mut query = diesel::sql_query(format!(
        "WITH listening (place, agent_id, chat_id, since) AS (VALUES {values}) \
         SELECT listening.place, messages.sequence, messages.created_at \
         FROM listening CROSS JOIN messages INDEXED BY messages_order \
         ON messages.chat_id = listening.chat_id AND messages.sequence IN ( \
         SELECT deliveries.sequence FROM deliveries INDEXED BY deliveries_new \
         WHERE deliveries.agent_id = listening.agent_id AND deliveries.chat_id = listening.chat_id \
         AND deliveries.status = 'new' AND deliveries.addressed = 1 \
         AND deliveries.sequence > listening.since ORDER BY deliveries.sequence LIMIT {limit})"
    ))
    .into_boxed();
    for (place, one) in (0_i64..).zip(listening) {
        query = query
            .bind::<BigInt, _>(place)
            .bind::<Binary, _>(row::bytes(one.agent.uuid()))
            .bind::<Binary, _>(row::bytes(one.chat.uuid()))
            .bind::<BigInt, _>(one.since);
    }
    let mut found = query.load::<Found>(connection)?;
    found.sort_unstable_by_key(|found| (found.place, found.sequence));
    let found = found.into_iter().map(|Found { place, sequence, created_at }| {
        let place = usize::try_from(place).map_err(|_| Fault::Row(format!("the listener {place}")))?;
        Ok((place, Unacknowledged { sequence, written_at: row::time(created_at) }))
    });
    found.collect()
}

pub(super) fn new_messages_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
    places: &[i64],
) -> Result<Vec<Message>, Fault> {
    if places.is_empty() || membership_on(connection, ParticipantId::Agent(agent), chat)?.is_none() {
        return Ok(Vec::new());
    }
    let places = places.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let places = diesel::sql_query(format!(
        "SELECT sequence FROM deliveries INDEXED BY deliveries_new \
         WHERE agent_id = ?1 AND chat_id = ?2 AND status = 'new' AND addressed = 1 \
         AND sequence IN ({places}) ORDER BY sequence"
    ));
    let places = places
        .bind::<Binary, _>(row::bytes(agent.uuid()))
        .bind::<Binary, _>(row::bytes(chat.uuid()))
        .load::<Place>(connection)?;
    let places = places.into_iter().map(|place| place.sequence).collect::<Vec<_>>();
    let records = Records::Of(agent);
    Ok(part_on(connection, chat, &places, Order::Ascending, records, NUMBERED_PAGE_BYTES)?.0)
}
