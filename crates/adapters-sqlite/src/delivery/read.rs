//! The backlog of an agent, and listings by state.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::delivery::{DeliveryFilter, NextMessage};
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::message::Message;
use domain::page::{Order, PAGE_BYTES, Page, PageRequest};
use domain::time::Timestamp;

use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::message::load::{Records, part_on, position};
use crate::message::row::status::{FAILED, PROCESSING, UNCLAIMED};
use crate::row;
use crate::statement::statement;

/// The index of a filter, unless it is the primary key, and its condition.
///
/// The index is named because SQLite would scan all deliveries of the agent in the chat: it rates the
/// primary key as highly as the index of open deliveries. The query must contain the exact condition
/// of a partial index, or the index cannot be used.
fn chosen(filter: DeliveryFilter) -> (&'static str, String) {
    const OPEN: &str = "processed_at IS NULL AND dead_at IS NULL AND addressed = 1";
    match filter {
        DeliveryFilter::Open => ("INDEXED BY deliveries_open", OPEN.to_owned()),
        DeliveryFilter::Pending => ("INDEXED BY deliveries_open", format!("{OPEN} AND NOT {PROCESSING}")),
        DeliveryFilter::Processing => ("INDEXED BY deliveries_at_work", format!("{OPEN} AND {PROCESSING}")),
        DeliveryFilter::Failed => ("INDEXED BY deliveries_at_work", format!("{OPEN} AND {FAILED}")),
        DeliveryFilter::Processed => ("", "processed_at IS NOT NULL AND addressed = 1".to_owned()),
        DeliveryFilter::All => ("", "addressed = 1".to_owned()),
    }
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

pub(super) fn next_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
    now: Timestamp,
) -> Result<Option<NextMessage>, Fault> {
    let Some(own) = membership_on(connection, ParticipantId::Agent(agent), chat)? else {
        return Ok(None);
    };
    let status = own.state.status;
    if own.state.is_halted() {
        return Ok(Some(NextMessage { status, message: None }));
    }
    // The first of the deliveries that `DeliveryFilter::Open` selects and no worker claims.
    let first = statement!(
        "SELECT sequence FROM deliveries INDEXED BY deliveries_open \
         WHERE agent_id = ? AND chat_id = ? AND processed_at IS NULL AND dead_at IS NULL AND addressed = 1 \
         AND ", UNCLAIMED, " ORDER BY sequence LIMIT 1" => BigInt
    );
    let first = first
        .bind::<Binary, _>(row::bytes(agent.uuid()))
        .bind::<Binary, _>(row::bytes(chat.uuid()))
        .bind::<BigInt, _>(row::At(now))
        .get_result::<i64>(connection)
        .optional()?;
    let (mut rows, _) =
        part_on(connection, chat, first.as_slice(), Order::Ascending, Records::Of(agent), PAGE_BYTES)?;
    Ok(Some(NextMessage { status, message: rows.pop() }))
}

pub(super) fn list_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
    filter: DeliveryFilter,
    order: Order,
    page: PageRequest,
) -> Result<Option<Page<Message>>, Fault> {
    if membership_on(connection, ParticipantId::Agent(agent), chat)?.is_none() {
        return Ok(None);
    }
    let total = if page.count { Some(count_on(connection, agent, chat, filter)?) } else { None };
    let mut sequences = sequences_on(connection, agent, chat, filter, order, &page)?;
    let limit = page.slice.limit() as usize;
    let more = sequences.len() > limit;
    sequences.truncate(limit);
    let (rows, cut) = part_on(connection, chat, &sequences, order, Records::Of(agent), page.max_bytes())?;
    Ok(Some(Page::part(rows, more || cut, total, position)))
}

fn count_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
    filter: DeliveryFilter,
) -> Result<u64, Fault> {
    let (index, condition) = chosen(filter);
    let counted = diesel::sql_query(format!(
        "SELECT count(*) AS number FROM deliveries {index} \
         WHERE agent_id = ?1 AND chat_id = ?2 AND {condition}"
    ));
    let counted = counted
        .bind::<Binary, _>(row::bytes(agent.uuid()))
        .bind::<Binary, _>(row::bytes(chat.uuid()))
        .get_result::<Number>(connection)?;
    Ok(counted.number.cast_unsigned())
}

/// The sequences of a page's messages in the chat, and one more.
fn sequences_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
    filter: DeliveryFilter,
    order: Order,
    page: &PageRequest,
) -> Result<Vec<i64>, Fault> {
    let (index, condition) = chosen(filter);
    let (beyond, direction, start) = match order {
        Order::Ascending => (">", "ASC", 0),
        Order::Descending => ("<", "DESC", i64::MAX),
    };
    let sequences = diesel::sql_query(format!(
        "SELECT sequence AS number FROM deliveries {index} \
         WHERE agent_id = ?1 AND chat_id = ?2 AND {condition} AND sequence {beyond} ?3 \
         ORDER BY sequence {direction} LIMIT ?4 OFFSET ?5"
    ));
    let sequences = sequences
        .bind::<Binary, _>(row::bytes(agent.uuid()))
        .bind::<Binary, _>(row::bytes(chat.uuid()))
        .bind::<BigInt, _>(page.slice.after().map_or(start, |after| after.key))
        .bind::<BigInt, _>(i64::from(page.slice.limit()) + 1)
        .bind::<BigInt, _>(page.slice.offset())
        .load::<Number>(connection)?;
    Ok(sequences.into_iter().map(|found| found.number).collect())
}
