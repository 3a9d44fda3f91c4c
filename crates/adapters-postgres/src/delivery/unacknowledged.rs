//! Deliveries that no socket has acknowledged.

use std::collections::HashMap;
use std::sync::LazyLock;

use diesel::sql_types::{Array, BigInt, Nullable, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::{BacklogWork, EXAMINED, Listening, Searched, Unacknowledged};
use domain::id::{AgentId, ChatId, ParticipantId, Sequence};
use domain::message::Message;
use domain::page::{NUMBERED_PAGE_BYTES, Order};
use uuid::Uuid;

use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::message::load::{Records, part_on};
use crate::message::row::status::NEW;
use crate::row::At;
use crate::run::Db;
use crate::statement::statement;

/// Reads the index of open deliveries for each listener. Whether one is new is seen on its row, so that
/// a mark changes no index. How far the search went is only of interest if it found nothing.
static SEARCH: LazyLock<String> = LazyLock::new(|| {
    let open = format!(
        "FROM deliveries WHERE deliveries.agent_id = listening.agent_id \
         AND deliveries.chat_id = listening.chat_id AND deliveries.processed_at IS NULL \
         AND deliveries.dead_at IS NULL AND deliveries.addressed \
         AND deliveries.sequence > listening.since ORDER BY deliveries.sequence LIMIT {EXAMINED}"
    );
    format!(
        "SELECT listening.ordinal, examined.last, new.sequence, messages.created_at \
         FROM unnest(?, ?, ?, ?) AS listening (ordinal, agent_id, chat_id, since) \
         LEFT JOIN LATERAL (SELECT sequence FROM (SELECT sequence, {NEW} AS is_new {open}) AS open \
         WHERE is_new ORDER BY sequence LIMIT ?) AS new ON TRUE \
         LEFT JOIN LATERAL (SELECT max(sequence) AS last FROM (SELECT sequence {open}) AS open \
         WHERE new.sequence IS NULL) AS examined ON TRUE \
         LEFT JOIN messages ON messages.chat_id = listening.chat_id AND messages.sequence = new.sequence \
         WHERE (new.sequence IS NOT NULL AND (SELECT coalesce(stopped_at, agent_paused_at, paused_at) FROM participants \
         JOIN chats ON chats.id = participants.chat_id \
         LEFT JOIN organizations ON organizations.id = chats.organization_id \
         WHERE participants.chat_id = listening.chat_id AND participants.participant_id = listening.agent_id) IS NULL) \
         OR examined.last IS NOT NULL ORDER BY listening.ordinal, new.sequence"
    )
});

pub(super) async fn unacknowledged_on(
    mut db: &Db,
    listening: &[Listening],
    limit: u32,
) -> Result<Vec<Searched>, Fault> {
    if listening.is_empty() {
        return Ok(Vec::new());
    }
    let count = i64::try_from(listening.len()).unwrap_or(i64::MAX);
    let found =
        statement::<(BigInt, Nullable<BigInt>, Nullable<BigInt>, Nullable<Timestamptz>)>(SEARCH.as_str())
            .bind::<Array<BigInt>, _>((0..count).collect::<Vec<_>>())
            .bind::<Array<SqlUuid>, _>(listening.iter().map(|one| one.agent.uuid()).collect::<Vec<_>>())
            .bind::<Array<SqlUuid>, _>(listening.iter().map(|one| one.chat.uuid()).collect::<Vec<_>>())
            .bind::<Array<BigInt>, _>(listening.iter().map(|one| one.since.get()).collect::<Vec<_>>())
            .bind::<BigInt, _>(i64::from(limit))
            .load::<(i64, Option<i64>, Option<i64>, Option<At>)>(&mut db)
            .await?;
    let mut searched = vec![Searched::default(); listening.len()];
    for (ordinal, examined_to, sequence, written_at) in found {
        let one = usize::try_from(ordinal).ok().and_then(|ordinal| searched.get_mut(ordinal));
        let one = one.ok_or_else(|| Fault::Row(format!("the listener {ordinal}")))?;
        one.examined_to = examined_to.map(Sequence::new);
        if let (Some(sequence), Some(At(written_at))) = (sequence, written_at) {
            one.found.push(Unacknowledged { sequence: Sequence::new(sequence), written_at });
        }
    }
    Ok(searched)
}

pub(super) async fn last_sequences_on(
    mut db: &Db,
    chats: &[ChatId],
) -> Result<HashMap<ChatId, Sequence>, Fault> {
    let rows = statement::<(SqlUuid, BigInt)>("SELECT id, last_sequence FROM chats WHERE id = ANY(?)")
        .bind::<Array<SqlUuid>, _>(chats.iter().map(|chat| chat.uuid()).collect::<Vec<_>>())
        .load::<(Uuid, i64)>(&mut db)
        .await?;
    Ok(rows.into_iter().map(|(chat, last)| (ChatId::new(chat), Sequence::new(last))).collect())
}

static WORK: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT max(started_at) FILTER (WHERE failed_at IS NULL), max(failed_at), \
         (SELECT coalesce(processed_at, dead_at) FROM deliveries \
         WHERE agent_id = ? AND chat_id = ? AND addressed AND sequence < ( \
         SELECT sequence FROM deliveries WHERE agent_id = ? AND chat_id = ? AND processed_at IS NULL AND dead_at IS NULL \
         AND addressed ORDER BY sequence LIMIT 1) ORDER BY sequence DESC LIMIT 1) \
         FROM (SELECT started_at, failed_at FROM deliveries WHERE agent_id = ? AND chat_id = ? \
         AND processed_at IS NULL AND dead_at IS NULL AND current_attempt > 0 AND addressed \
         AND current_attempt > coalesce(restarted_after, 0) AND sequence <= ? \
         ORDER BY sequence LIMIT {EXAMINED}) AS at_work"
    )
});

pub(super) async fn backlog_work_on(
    mut db: &Db,
    agent: AgentId,
    chat: ChatId,
    until: Sequence,
) -> Result<BacklogWork, Fault> {
    type Times = (Nullable<Timestamptz>, Nullable<Timestamptz>, Nullable<Timestamptz>);
    let mut asked = statement::<Times>(WORK.as_str());
    for _ in 0..3 {
        asked = asked.bind::<SqlUuid, _>(agent.uuid()).bind::<SqlUuid, _>(chat.uuid());
    }
    let (begun_at, failed_at, processed_at) = asked
        .bind::<BigInt, _>(until.get())
        .get_result::<(Option<At>, Option<At>, Option<At>)>(&mut db)
        .await?;
    let [begun_at, failed_at, processed_at] =
        [begun_at, failed_at, processed_at].map(|at| at.map(|At(at)| at));
    Ok(BacklogWork { begun_at, ended_at: failed_at.max(processed_at) })
}

/// Locks them, which every change of them does first.
const LOCKED: &str = "SELECT id FROM messages WHERE chat_id = ? AND sequence = ANY(?) \
     ORDER BY id FOR NO KEY UPDATE";

static STILL_NEW: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT sequence FROM deliveries WHERE agent_id = ? AND chat_id = ? AND processed_at IS NULL \
         AND dead_at IS NULL AND addressed AND {NEW} AND sequence = ANY(?) ORDER BY sequence"
    )
});

/// Each statement of a change sees the commits before it begins: a delivery that is still new after
/// the messages were locked stays new to the end.
pub(super) async fn new_messages_on(
    mut db: &Db,
    agent: AgentId,
    chat: ChatId,
    sequences: &[Sequence],
) -> Result<Vec<Message>, Fault> {
    if sequences.is_empty() {
        return Ok(Vec::new());
    }
    let own = membership_on(db, ParticipantId::Agent(agent), chat).await?;
    if own.is_none_or(|own| own.state.is_halted()) {
        return Ok(Vec::new());
    }
    let numbers = sequences.iter().map(|sequence| sequence.get()).collect::<Vec<_>>();
    statement::<SqlUuid>(LOCKED)
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<Array<BigInt>, _>(numbers.clone())
        .load::<Uuid>(&mut db)
        .await?;
    let numbers = statement::<BigInt>(STILL_NEW.as_str())
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<Array<BigInt>, _>(numbers)
        .load::<i64>(&mut db)
        .await?;
    let records = Records::Of(agent);
    Ok(part_on(db, chat, &numbers, Order::Ascending, records, NUMBERED_PAGE_BYTES).await?.0)
}
