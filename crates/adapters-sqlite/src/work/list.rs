//! A page of open work.
//!
//! The open deliveries of an agent in a chat are in the order of their messages, so a page of n items is
//! in the n chats whose first items are oldest. The first statement skips along the index of open
//! deliveries from chat to chat, and reads one item in each; the second reads at most a page of items
//! in each of these chats. Neither reads what is processed.

use diesel::prelude::*;
use diesel::query_builder::{BoxedSqlQuery, SqlQuery};
use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
use domain::id::{AgentId, ChatId, Sequence};
use domain::organization::NotAdmin;
use domain::page::{Page, PageRequest};
use domain::work::{EXAMINED_PER_QUEUE, WorkItem, WorkKey, WorkPart, WorkSearch};

use super::check_on;
use super::find::items_on;
use super::row::{CONDITIONS, LAST_ERROR, account, agents, belongs, error, examined, root, state};
use crate::error::Fault;
use crate::row::{self, At, Id};

#[derive(QueryableByName)]
struct KeyRow {
    #[diesel(sql_type = Binary)]
    agent_id: Id,
    #[diesel(sql_type = Binary)]
    chat_id: Id,
    #[diesel(sql_type = BigInt)]
    sequence: i64,
    #[diesel(sql_type = BigInt)]
    created_at: At,
}

impl KeyRow {
    const fn key(self) -> WorkKey {
        WorkKey {
            written_at: self.created_at.0,
            agent: AgentId::new(self.agent_id.0),
            chat: ChatId::new(self.chat_id.0),
            sequence: Sequence::new(self.sequence),
        }
    }
}

pub(super) fn list_on(
    connection: &mut SqliteConnection,
    search: &WorkSearch,
    page: &PageRequest,
) -> Result<Result<Page<WorkItem>, NotAdmin>, Fault> {
    if let Err(refused) = check_on(connection, search.scope)? {
        return Ok(Err(refused));
    }
    let after = page.slice.after().as_ref().and_then(WorkKey::at);
    let limit = page.slice.limit() as usize;
    let mut keys = keys_on(connection, search, after, limit + 1)?;
    let more = keys.len() > limit;
    keys.truncate(limit);
    let record = |key: &WorkKey| (key.agent.uuid(), key.chat.uuid(), key.sequence.get());
    let records = keys.iter().map(record).collect::<Vec<_>>();
    let (items, cut) = items_on(connection, search.scope, &records, page.max_bytes())?;
    Ok(Ok(Page::part(items, more || cut, None, |item| item.key().position())))
}

/// The keys of the first `limit` items after `after`.
fn keys_on(
    connection: &mut SqliteConnection,
    search: &WorkSearch,
    after: Option<WorkKey>,
    limit: usize,
) -> Result<Vec<WorkKey>, Fault> {
    let mut firsts = Vec::new();
    for part in search.parts() {
        let first = firsts_on(connection, search, part, after, limit)?;
        firsts.extend(first.into_iter().map(|first| (first, part)));
    }
    firsts.sort_unstable_by_key(|(first, _)| *first);
    firsts.truncate(limit);
    let mut keys = Vec::new();
    for part in search.parts() {
        let queues = firsts.iter().filter(|(_, of)| *of == part).map(|(first, _)| *first).collect::<Vec<_>>();
        keys.extend(items_of_on(connection, search, part, after, &queues, limit)?);
    }
    keys.sort_unstable();
    keys.truncate(limit);
    Ok(keys)
}

macro_rules! open {
    () => {
        "deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL"
    };
}

/// The deliveries of a condition on `deliveries`, along the index of a part.
pub(super) fn open(part: WorkPart, condition: &str) -> String {
    let (index, indexed) = match part {
        WorkPart::Waiting => ("deliveries_open", concat!(open!(), " AND deliveries.addressed = 1")),
        WorkPart::Begun => ("deliveries_at_work", concat!(open!(), " AND deliveries.current_attempt > 0")),
        WorkPart::Dead => ("deliveries_dead", "deliveries.dead_at IS NOT NULL"),
    };
    format!("FROM deliveries INDEXED BY {index} WHERE {condition} AND {indexed}")
}

/// The items of a part in each of `queues`, at most `limit` of each; [`bound`] binds the values.
fn items(part: WorkPart, search: &WorkSearch, limit: usize) -> String {
    let open = open(part, "deliveries.agent_id = queues.agent_id AND deliveries.chat_id = queues.chat_id");
    format!(
        "CROSS JOIN messages AS item INDEXED BY messages_order \
         ON item.chat_id = queues.chat_id AND item.sequence IN (\
             SELECT deliveries.sequence FROM (\
                 SELECT agent_id, chat_id, sequence, current_attempt, delivered_at, started_at, failed_at, error, dead_at, \
                     restarted_after, restarted_at, held_by \
                 {open} AND {} ORDER BY deliveries.sequence LIMIT {EXAMINED_PER_QUEUE}) AS deliveries \
             CROSS JOIN messages INDEXED BY messages_order ON messages.chat_id = deliveries.chat_id \
                 AND messages.sequence = deliveries.sequence \
             WHERE {} AND (messages.created_at, deliveries.agent_id, deliveries.chat_id, deliveries.sequence) > (?, ?, ?, ?) \
             ORDER BY deliveries.sequence LIMIT {limit}) \
         ORDER BY item.created_at, queues.agent_id, queues.chat_id, item.sequence LIMIT ?",
        examined(part, search),
        conditions(part),
    )
}

type Boxed<'q> = BoxedSqlQuery<'q, Sqlite, SqlQuery>;

/// The conditions of a search on an item of a part.
pub(super) fn conditions(part: WorkPart) -> String {
    format!(
        "{} AND {} AND (? = '' OR instr(lower({LAST_ERROR}), ?) > 0) \
         AND (? IS NULL OR messages.root_id = ? OR messages.id = ?) AND messages.created_at <= ?",
        belongs(part),
        CONDITIONS.as_str(),
    )
}

/// Binds the values of [`conditions`].
pub(super) fn bind_conditions<'q>(query: Boxed<'q>, search: &WorkSearch) -> Boxed<'q> {
    let failures = i32::try_from(search.failures()).unwrap_or(i32::MAX);
    query
        .bind::<Text, _>(state(search))
        .bind::<Integer, _>(i32::try_from(search.min_attempts).unwrap_or(i32::MAX))
        .bind::<Nullable<BigInt>, _>(search.offered_by().map(At))
        .bind::<Nullable<BigInt>, _>(search.offered_by().map(At))
        .bind::<Nullable<BigInt>, _>(search.open_since().map(At))
        .bind::<Nullable<BigInt>, _>(search.open_since().map(At))
        .bind::<Integer, _>(failures)
        .bind::<Integer, _>(failures)
        .bind::<Text, _>(error(search))
        .bind::<Text, _>(error(search))
        .bind::<Nullable<Binary>, _>(root(search))
        .bind::<Nullable<Binary>, _>(root(search))
        .bind::<Nullable<Binary>, _>(root(search))
        .bind::<BigInt, _>(At(search.written_by()))
}

/// Binds the values of [`items`], and the limit of all.
fn bound<'q>(query: Boxed<'q>, search: &WorkSearch, after: Option<WorkKey>, limit: usize) -> Boxed<'q> {
    let after = after.unwrap_or_else(WorkKey::start);
    bind_conditions(query, search)
        .bind::<BigInt, _>(At(after.written_at))
        .bind::<Binary, _>(Id(after.agent.uuid()))
        .bind::<Binary, _>(Id(after.chat.uuid()))
        .bind::<BigInt, _>(after.sequence.get())
        .bind::<BigInt, _>(i64::try_from(limit).unwrap_or(i64::MAX))
}

/// The agents of a search with the chats in which they have deliveries of a part.
pub(super) fn queues(search: &WorkSearch, part: WorkPart) -> String {
    let of = agents(search.scope);
    let one = if search.agent.is_some() { " AND agents.id = ?" } else { "" };
    if search.chat.is_some() {
        format!(
            "WITH queues (agent_id, chat_id) AS (SELECT participants.participant_id, participants.chat_id \
             FROM participants WHERE participants.chat_id = ? AND participants.left_at IS NULL \
             AND participants.participant_id IN (SELECT agents.id {of}{one}))"
        )
    } else {
        let first = open(part, "deliveries.agent_id = agents.id");
        let next =
            open(part, "deliveries.agent_id = queues.agent_id AND deliveries.chat_id > queues.chat_id");
        let chat =
            |open: &str| format!("(SELECT deliveries.chat_id {open} ORDER BY deliveries.chat_id LIMIT 1)");
        format!(
            "WITH RECURSIVE queues (agent_id, chat_id) AS (SELECT agents.id, {} {of}{one} \
             UNION ALL SELECT queues.agent_id, {} FROM queues WHERE queues.chat_id IS NOT NULL)",
            chat(&first),
            chat(&next),
        )
    }
}

/// Binds the values of [`queues`].
pub(super) fn bind_queues<'q>(mut query: Boxed<'q>, search: &WorkSearch) -> Boxed<'q> {
    if let Some(chat) = search.chat {
        query = query.bind::<Binary, _>(Id(chat.uuid()));
    }
    if let Some(account) = account(search.scope) {
        query = query.bind::<Binary, _>(account);
    }
    if let Some(agent) = search.agent {
        query = query.bind::<Binary, _>(Id(agent.uuid()));
    }
    query
}

/// Only queues of participants of chats that exist.
pub(super) const MEMBERSHIP: &str = "CROSS JOIN participants ON participants.chat_id = queues.chat_id \
     AND participants.participant_id = queues.agent_id AND participants.left_at IS NULL \
     CROSS JOIN chats ON chats.id = queues.chat_id AND chats.deleted_at IS NULL";

/// The first item of each agent in each chat; the `limit` oldest of them.
fn firsts_on(
    connection: &mut SqliteConnection,
    search: &WorkSearch,
    part: WorkPart,
    after: Option<WorkKey>,
    limit: usize,
) -> Result<Vec<WorkKey>, Fault> {
    let firsts = diesel::sql_query(format!(
        "{} SELECT queues.agent_id AS agent_id, queues.chat_id AS chat_id, item.sequence AS sequence, \
         item.created_at AS created_at FROM queues {MEMBERSHIP} {}",
        queues(search, part),
        items(part, search, 1),
    ));
    let firsts = bind_queues(firsts.into_boxed(), search);
    let found = bound(firsts, search, after, limit).load::<KeyRow>(connection)?;
    Ok(found.into_iter().map(KeyRow::key).collect())
}

/// The first `limit` items of these queues; each queue is given by its first item.
fn items_of_on(
    connection: &mut SqliteConnection,
    search: &WorkSearch,
    part: WorkPart,
    after: Option<WorkKey>,
    queues: &[WorkKey],
    limit: usize,
) -> Result<Vec<WorkKey>, Fault> {
    if queues.is_empty() {
        return Ok(Vec::new());
    }
    let records = queues.iter().map(|queue| (Id(queue.agent.uuid()).hex(), Id(queue.chat.uuid()).hex()));
    let query = diesel::sql_query(format!(
        "WITH queues (agent_id, chat_id) AS (SELECT unhex(value ->> 0), unhex(value ->> 1) FROM json_each(?)) \
         SELECT queues.agent_id AS agent_id, queues.chat_id AS chat_id, item.sequence AS sequence, \
         item.created_at AS created_at FROM queues {}",
        items(part, search, limit),
    ));
    let query = query.into_boxed().bind::<Text, _>(row::to_json(&records.collect::<Vec<_>>())?);
    let found = bound(query, search, after, limit).load::<KeyRow>(connection)?;
    Ok(found.into_iter().map(KeyRow::key).collect())
}
