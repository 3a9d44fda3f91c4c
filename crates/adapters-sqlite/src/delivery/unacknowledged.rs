//! Deliveries that no socket has acknowledged.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::delivery::{BacklogWork, EXAMINED, Listening, Searched, Unacknowledged};
use domain::id::{AgentId, ChatId, ParticipantId, Sequence};
use domain::message::Message;
use domain::page::{NUMBERED_PAGE_BYTES, Order};

use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::message::load::{Records, part_on};
use crate::message::row::status::NEW;
use crate::row::{self, Id};
use crate::statement::statement;

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = BigInt)]
    ordinal: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    examined_to: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    sequence: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    created_at: Option<i64>,
}

pub(super) fn last_sequences_on(
    connection: &mut SqliteConnection,
    chats: &[ChatId],
) -> Result<HashMap<ChatId, Sequence>, Fault> {
    let ids = chats.iter().map(|chat| Id(chat.uuid()).hex()).collect::<Vec<_>>();
    let rows = statement!(
        "SELECT chats.id, last_sequence FROM json_each(?) AS listed CROSS JOIN chats ON chats.id = unhex(listed.value)"
        => (Binary, BigInt)
    );
    let rows = rows.bind::<Text, _>(row::to_json(&ids)?).load::<(Id, i64)>(connection)?;
    Ok(rows.into_iter().map(|(Id(chat), last)| (ChatId::new(chat), Sequence::new(last))).collect())
}

#[derive(QueryableByName)]
struct Numbered {
    #[diesel(sql_type = BigInt)]
    sequence: i64,
}

/// One statement, which reads the index of open deliveries for each listener. The condition on the
/// status is on the rows, so that a mark changes no index. How far the search went is only of interest
/// if it found nothing.
pub(super) fn unacknowledged_on(
    connection: &mut SqliteConnection,
    listening: &[Listening],
    limit: u32,
) -> Result<Vec<Searched>, Fault> {
    if listening.is_empty() {
        return Ok(Vec::new());
    }
    let values = vec!["(?, ?, ?, ?)"; listening.len()].join(", ");
    let open = format!(
        "FROM deliveries INDEXED BY deliveries_open \
         WHERE deliveries.agent_id = listening.agent_id AND deliveries.chat_id = listening.chat_id \
         AND deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL AND deliveries.addressed = 1 \
         AND deliveries.sequence > listening.since ORDER BY deliveries.sequence LIMIT {EXAMINED}"
    );
    let mut query = diesel::sql_query(format!(
        "WITH listening (ordinal, agent_id, chat_id, since) AS (VALUES {values}) \
         SELECT listening.ordinal, messages.sequence, messages.created_at, CASE WHEN messages.sequence IS NULL \
         THEN (SELECT max(sequence) FROM (SELECT sequence {open})) END AS examined_to \
         FROM listening LEFT JOIN messages INDEXED BY messages_order \
         ON messages.chat_id = listening.chat_id AND messages.sequence IN ( \
         SELECT sequence FROM (SELECT sequence, {NEW} AS is_new {open}) \
         WHERE is_new ORDER BY sequence LIMIT {limit}) \
         WHERE messages.sequence IS NULL OR (SELECT coalesce(stopped_at, agent_paused_at, paused_at) FROM participants \
         CROSS JOIN chats ON chats.id = participants.chat_id \
         LEFT JOIN organizations ON organizations.id = chats.organization_id \
         WHERE participants.chat_id = listening.chat_id AND participants.participant_id = listening.agent_id) IS NULL"
    ))
    .into_boxed();
    for (ordinal, one) in (0_i64..).zip(listening) {
        query = query
            .bind::<BigInt, _>(ordinal)
            .bind::<Binary, _>(row::bytes(one.agent.uuid()))
            .bind::<Binary, _>(row::bytes(one.chat.uuid()))
            .bind::<BigInt, _>(one.since.get());
    }
    let mut found = query.load::<Found>(connection)?;
    found.sort_unstable_by_key(|found| (found.ordinal, found.sequence));
    let mut searched = vec![Searched::default(); listening.len()];
    for Found { ordinal, examined_to, sequence, created_at } in found {
        let one = usize::try_from(ordinal).ok().and_then(|ordinal| searched.get_mut(ordinal));
        let one = one.ok_or_else(|| Fault::Row(format!("the listener {ordinal}")))?;
        one.examined_to = examined_to.map(Sequence::new);
        if let (Some(sequence), Some(created_at)) = (sequence, created_at) {
            let sequence = Sequence::new(sequence);
            one.found.push(Unacknowledged { sequence, written_at: row::time(created_at) });
        }
    }
    Ok(searched)
}

#[derive(QueryableByName)]
struct Work {
    #[diesel(sql_type = Nullable<BigInt>)]
    begun: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    failed: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    processed: Option<i64>,
}

pub(super) fn backlog_work_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
    until: Sequence,
) -> Result<BacklogWork, Fault> {
    let work = diesel::sql_query(format!(
        "SELECT max(started_at) FILTER (WHERE failed_at IS NULL) AS begun, max(failed_at) AS failed, \
         (SELECT coalesce(processed_at, dead_at) FROM deliveries \
         WHERE agent_id = ?1 AND chat_id = ?2 AND addressed = 1 AND sequence < ( \
         SELECT sequence FROM deliveries INDEXED BY deliveries_open \
         WHERE agent_id = ?1 AND chat_id = ?2 AND processed_at IS NULL AND dead_at IS NULL AND addressed = 1 \
         ORDER BY sequence LIMIT 1) ORDER BY sequence DESC LIMIT 1) AS processed \
         FROM (SELECT started_at, failed_at FROM deliveries INDEXED BY deliveries_at_work \
         WHERE agent_id = ?1 AND chat_id = ?2 AND processed_at IS NULL AND dead_at IS NULL AND current_attempt > 0 \
         AND addressed = 1 AND current_attempt > coalesce(restarted_after, 0) AND sequence <= ?3 ORDER BY sequence LIMIT {EXAMINED})"
    ));
    let work = work
        .bind::<Binary, _>(row::bytes(agent.uuid()))
        .bind::<Binary, _>(row::bytes(chat.uuid()))
        .bind::<BigInt, _>(until.get())
        .get_result::<Work>(connection)?;
    let ended_at = work.failed.max(work.processed).map(row::time);
    Ok(BacklogWork { begun_at: work.begun.map(row::time), ended_at })
}

pub(super) fn new_messages_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
    sequences: &[Sequence],
) -> Result<Vec<Message>, Fault> {
    let plays = |connection: &mut SqliteConnection| {
        let own = membership_on(connection, ParticipantId::Agent(agent), chat)?;
        Ok::<_, Fault>(own.is_some_and(|own| !own.state.is_halted()))
    };
    if sequences.is_empty() || !plays(connection)? {
        return Ok(Vec::new());
    }
    let numbers = sequences.iter().map(|sequence| sequence.get().to_string()).collect::<Vec<_>>().join(", ");
    let numbers = diesel::sql_query(format!(
        "SELECT sequence FROM deliveries INDEXED BY deliveries_open \
         WHERE agent_id = ?1 AND chat_id = ?2 AND processed_at IS NULL AND dead_at IS NULL AND addressed = 1 AND {NEW} \
         AND sequence IN ({numbers}) ORDER BY sequence"
    ));
    let numbers = numbers
        .bind::<Binary, _>(row::bytes(agent.uuid()))
        .bind::<Binary, _>(row::bytes(chat.uuid()))
        .load::<Numbered>(connection)?;
    let numbers = numbers.into_iter().map(|row| row.sequence).collect::<Vec<_>>();
    let records = Records::Of(agent);
    Ok(part_on(connection, chat, &numbers, Order::Ascending, records, NUMBERED_PAGE_BYTES)?.0)
}
