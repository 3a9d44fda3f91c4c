//! A page of open work.
//!
//! The open deliveries of an agent in a chat are in the order of their messages, so a page of n items is
//! in the n chats whose first items are oldest. The first statement skips along the index of open
//! deliveries from chat to chat, and reads one item in each; the second reads at most a page of items
//! in each of these chats. Neither reads what is processed.

use diesel::sql_types::{Array, BigInt, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{AgentId, ChatId, Sequence};
use domain::organization::NotAdmin;
use domain::page::{Page, PageRequest};
use domain::work::{EXAMINED_PER_QUEUE, WorkItem, WorkKey, WorkPart, WorkSearch};
use uuid::Uuid;

use super::check_on;
use super::find::items_on;
use super::row::{CONDITIONS, LAST_ERROR, account, agents, belongs, error, examined, root, state};
use crate::error::Fault;
use crate::row::{At, Id, can_be_stored};
use crate::run::Db;
use crate::statement::{Statement, statement};

/// The SQL types of a [`WorkKey`].
type KeyColumns = (SqlUuid, SqlUuid, BigInt, Timestamptz);

pub(super) async fn list_on(
    db: &Db,
    search: &WorkSearch,
    page: &PageRequest,
) -> Result<Result<Page<WorkItem>, NotAdmin>, Fault> {
    if let Err(refused) = check_on(db, search.scope).await? {
        return Ok(Err(refused));
    }
    let after = page.slice.after().as_ref().and_then(WorkKey::at);
    let limit = page.slice.limit() as usize;
    let mut keys = keys_on(db, search, after, limit + 1).await?;
    let more = keys.len() > limit;
    keys.truncate(limit);
    let records = keys.iter().map(|key| (key.agent.uuid(), key.chat.uuid(), key.sequence.get()));
    let (items, cut) = items_on(db, search.scope, records.collect(), page.max_bytes()).await?;
    Ok(Ok(Page::part(items, more || cut, None, |item| item.key().position())))
}

/// The keys of the first `limit` items after `after`.
async fn keys_on(
    db: &Db,
    search: &WorkSearch,
    after: Option<WorkKey>,
    limit: usize,
) -> Result<Vec<WorkKey>, Fault> {
    if !search.error.as_ref().is_none_or(|text| can_be_stored(text)) {
        return Ok(Vec::new());
    }
    let mut firsts = Vec::new();
    for part in search.parts() {
        let first = firsts_on(db, search, part, after, limit).await?;
        firsts.extend(first.into_iter().map(|first| (first, part)));
    }
    firsts.sort_unstable_by_key(|(first, _)| *first);
    firsts.truncate(limit);
    let mut keys = Vec::new();
    for part in search.parts() {
        let queues = firsts.iter().filter(|(_, of)| *of == part).map(|(first, _)| *first);
        keys.extend(items_of_on(db, search, part, after, queues.collect(), limit).await?);
    }
    keys.sort_unstable();
    keys.truncate(limit);
    Ok(keys)
}

/// The exact condition of the index of a part.
pub(super) const fn indexed(part: WorkPart) -> &'static str {
    match part {
        WorkPart::Waiting => {
            "deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL AND deliveries.addressed"
        }
        WorkPart::Begun => {
            "deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL AND deliveries.current_attempt > 0"
        }
        WorkPart::Dead => "deliveries.dead_at IS NOT NULL",
    }
}

/// The items of a part in a queue of `queues`; [`bound`] binds the values.
fn items(part: WorkPart, search: &WorkSearch) -> String {
    format!(
        "SELECT deliveries.sequence, messages.created_at \
         FROM (SELECT * FROM deliveries WHERE deliveries.agent_id = queues.agent_id \
             AND deliveries.chat_id = queues.chat_id AND {} AND {} \
             ORDER BY deliveries.sequence LIMIT {EXAMINED_PER_QUEUE}) AS deliveries \
         CROSS JOIN LATERAL (SELECT messages.id, messages.root_id, messages.created_at FROM messages \
             WHERE messages.chat_id = deliveries.chat_id AND messages.sequence = deliveries.sequence OFFSET 0) AS messages \
         WHERE {} AND (messages.created_at, deliveries.agent_id, deliveries.chat_id, deliveries.sequence) > (?, ?, ?, ?) \
         ORDER BY deliveries.sequence LIMIT ?",
        indexed(part),
        examined(part, search),
        conditions(part),
    )
}

/// The conditions of a search on an item of a part.
pub(super) fn conditions(part: WorkPart) -> String {
    format!(
        "{} AND {} AND (? = '' OR position(? IN lower({LAST_ERROR})) > 0) \
         AND (? IS NULL OR messages.root_id = ? OR messages.id = ?) AND messages.created_at <= ?",
        belongs(part),
        CONDITIONS.as_str(),
    )
}

/// Binds the values of [`conditions`].
pub(super) fn bind_conditions<'v, Row>(
    statement: Statement<'v, Row>,
    search: &WorkSearch,
) -> Statement<'v, Row> {
    let failures = i32::try_from(search.failures()).unwrap_or(i32::MAX);
    statement
        .bind::<Text, _>(state(search))
        .bind::<Integer, _>(i32::try_from(search.min_attempts).unwrap_or(i32::MAX))
        .bind::<Nullable<Timestamptz>, _>(search.offered_by().map(At))
        .bind::<Nullable<Timestamptz>, _>(search.offered_by().map(At))
        .bind::<Nullable<Timestamptz>, _>(search.open_since().map(At))
        .bind::<Nullable<Timestamptz>, _>(search.open_since().map(At))
        .bind::<Integer, _>(failures)
        .bind::<Integer, _>(failures)
        .bind::<Text, _>(error(search))
        .bind::<Text, _>(error(search))
        .bind::<Nullable<SqlUuid>, _>(root(search))
        .bind::<Nullable<SqlUuid>, _>(root(search))
        .bind::<Nullable<SqlUuid>, _>(root(search))
        .bind::<Timestamptz, _>(At(search.written_by()))
}

/// Binds the values of [`items`], but for the limit.
fn bound<'v, Row>(
    statement: Statement<'v, Row>,
    search: &WorkSearch,
    after: Option<WorkKey>,
) -> Statement<'v, Row> {
    let after = after.unwrap_or_else(WorkKey::start);
    bind_conditions(statement, search)
        .bind::<Timestamptz, _>(At(after.written_at))
        .bind::<SqlUuid, _>(after.agent.uuid())
        .bind::<SqlUuid, _>(after.chat.uuid())
        .bind::<BigInt, _>(after.sequence.get())
}

/// The agents of a search with the chats in which they have deliveries of a part.
pub(super) fn queues(search: &WorkSearch, part: WorkPart) -> String {
    let of = agents(search.scope);
    let one = if search.agent.is_some() { " AND agents.id = ?" } else { "" };
    let next = "ORDER BY deliveries.chat_id LIMIT 1";
    let indexed = indexed(part);
    if search.chat.is_some() {
        format!(
            "WITH queues (agent_id, chat_id) AS (SELECT participants.participant_id, participants.chat_id \
             FROM participants WHERE participants.chat_id = ? AND participants.left_at IS NULL \
             AND participants.participant_id IN (SELECT agents.id {of}{one}))"
        )
    } else {
        format!(
            "WITH RECURSIVE queues (agent_id, chat_id) AS (\
             SELECT agents.id, (SELECT deliveries.chat_id FROM deliveries \
                 WHERE deliveries.agent_id = agents.id AND {indexed} {next}) {of}{one} \
             UNION ALL \
             SELECT queues.agent_id, (SELECT deliveries.chat_id FROM deliveries \
                 WHERE deliveries.agent_id = queues.agent_id AND {indexed} AND deliveries.chat_id > queues.chat_id {next}) \
             FROM queues WHERE queues.chat_id IS NOT NULL)"
        )
    }
}

/// Binds the values of [`queues`].
pub(super) fn bind_queues<'v, Row>(
    mut statement: Statement<'v, Row>,
    search: &WorkSearch,
) -> Statement<'v, Row> {
    if let Some(chat) = search.chat {
        statement = statement.bind::<SqlUuid, _>(chat.uuid());
    }
    if let Some(Id(account)) = account(search.scope) {
        statement = statement.bind::<SqlUuid, _>(account);
    }
    if let Some(agent) = search.agent {
        statement = statement.bind::<SqlUuid, _>(agent.uuid());
    }
    statement
}

/// Only queues of participants of chats that exist.
pub(super) const MEMBERSHIP: &str = "CROSS JOIN LATERAL (SELECT 1 FROM participants \
     JOIN chats ON chats.id = participants.chat_id \
     WHERE participants.chat_id = queues.chat_id AND participants.participant_id = queues.agent_id \
     AND participants.left_at IS NULL AND chats.deleted_at IS NULL OFFSET 0) AS membership";

/// The first item of each agent in each chat; the `limit` oldest of them.
async fn firsts_on(
    mut db: &Db,
    search: &WorkSearch,
    part: WorkPart,
    after: Option<WorkKey>,
    limit: usize,
) -> Result<Vec<WorkKey>, Fault> {
    let firsts = statement::<KeyColumns>(format!(
        "{} SELECT queues.agent_id, queues.chat_id, item.sequence, item.created_at FROM queues {MEMBERSHIP} \
         CROSS JOIN LATERAL ({}) AS item \
         ORDER BY item.created_at, queues.agent_id, queues.chat_id LIMIT ?",
        queues(search, part),
        items(part, search),
    ));
    let firsts = bound(bind_queues(firsts, search), search, after)
        .bind::<BigInt, _>(1)
        .bind::<BigInt, _>(count(limit));
    Ok(firsts.load(&mut db).await?.into_iter().map(key).collect())
}

/// The first `limit` items of these queues; each queue is given by its first item.
async fn items_of_on(
    mut db: &Db,
    search: &WorkSearch,
    part: WorkPart,
    after: Option<WorkKey>,
    queues: Vec<WorkKey>,
    limit: usize,
) -> Result<Vec<WorkKey>, Fault> {
    if queues.is_empty() {
        return Ok(Vec::new());
    }
    let found = statement::<KeyColumns>(format!(
        "SELECT queues.agent_id, queues.chat_id, item.sequence, item.created_at \
         FROM unnest(?, ?) AS queues (agent_id, chat_id) CROSS JOIN LATERAL ({}) AS item \
         ORDER BY item.created_at, queues.agent_id, queues.chat_id, item.sequence LIMIT ?",
        items(part, search),
    ));
    let found = found
        .bind::<Array<SqlUuid>, _>(queues.iter().map(|queue| queue.agent.uuid()).collect::<Vec<_>>())
        .bind::<Array<SqlUuid>, _>(queues.iter().map(|queue| queue.chat.uuid()).collect::<Vec<_>>());
    let found = bound(found, search, after).bind::<BigInt, _>(count(limit)).bind::<BigInt, _>(count(limit));
    Ok(found.load(&mut db).await?.into_iter().map(key).collect())
}

fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn key((agent, chat, sequence, At(written_at)): (Uuid, Uuid, i64, At)) -> WorkKey {
    let (agent, chat) = (AgentId::new(agent), ChatId::new(chat));
    WorkKey { written_at, agent, chat, sequence: Sequence::new(sequence) }
}
