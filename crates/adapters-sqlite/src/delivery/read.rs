//! What waits for an agent, and listings by state.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::delivery::{DeliveryFilter, NextMessage, Order};
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::message::Message;
use domain::page::{Page, PageRequest, Slice};

use crate::chat::row::membership_on;
use crate::error::Fault;
use crate::message::load::{MessageRow, Records, messages_on, position};
use crate::row;
use crate::schema::messages;

/// The deliveries that a filter chooses: which index to run along, and the condition.
///
/// The index is named because SQLite would run along all that was ever delivered: it thinks as
/// well of that index as of the one of what is open. The words of an index's own condition have
/// to stand in the query, else it cannot be used.
const fn chosen(filter: DeliveryFilter) -> (&'static str, &'static str) {
    match filter {
        DeliveryFilter::Open => ("deliveries_open", "status <> 'processed' AND addressed = 1"),
        DeliveryFilter::Pending => (
            "deliveries_open",
            "status <> 'processed' AND addressed = 1 AND status IN ('new', 'delivered', 'failed')",
        ),
        DeliveryFilter::Processing => {
            ("deliveries_open", "status <> 'processed' AND addressed = 1 AND status = 'processing'")
        }
        DeliveryFilter::Failed => {
            ("deliveries_open", "status <> 'processed' AND addressed = 1 AND status = 'failed'")
        }
        DeliveryFilter::Processed => ("deliveries_of_agent", "addressed = 1 AND status = 'processed'"),
        DeliveryFilter::All => ("deliveries_of_agent", "addressed = 1"),
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
) -> Result<Option<NextMessage>, Fault> {
    let Some((_, membership)) = membership_on(connection, ParticipantId::Agent(agent), chat)? else {
        return Ok(None);
    };
    let first = PageRequest { slice: Slice::After { after: None, limit: 1 }, count: false };
    let rows = rows_on(connection, agent, chat, DeliveryFilter::Open, Order::Ascending, first, 1)?;
    let message = messages_on(connection, rows, Records::Of(agent))?.pop();
    Ok(Some(NextMessage { membership, message }))
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
    let limit = i64::from(page.slice.limit()) + 1;
    let rows = rows_on(connection, agent, chat, filter, order, page, limit)?;
    let rows = messages_on(connection, rows, Records::Of(agent))?;
    Ok(Some(Page::from_overfetch(rows, page, total, position)))
}

fn count_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
    filter: DeliveryFilter,
) -> Result<u64, Fault> {
    let (index, condition) = chosen(filter);
    let counted = diesel::sql_query(format!(
        "SELECT count(*) AS number FROM deliveries INDEXED BY {index} \
         WHERE agent_id = ?1 AND chat_id = ?2 AND {condition}"
    ));
    let counted = counted
        .bind::<Binary, _>(row::bytes(agent.uuid()))
        .bind::<Binary, _>(row::bytes(chat.uuid()))
        .get_result::<Number>(connection)?;
    Ok(counted.number.cast_unsigned())
}

fn rows_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
    filter: DeliveryFilter,
    order: Order,
    page: PageRequest,
    limit: i64,
) -> Result<Vec<MessageRow>, Fault> {
    let (index, condition) = chosen(filter);
    let (beyond, direction, start) = match order {
        Order::Ascending => (">", "ASC", 0),
        Order::Descending => ("<", "DESC", i64::MAX),
    };
    let places = diesel::sql_query(format!(
        "SELECT sequence AS number FROM deliveries INDEXED BY {index} \
         WHERE agent_id = ?1 AND chat_id = ?2 AND {condition} AND sequence {beyond} ?3 \
         ORDER BY sequence {direction} LIMIT ?4 OFFSET ?5"
    ));
    let places = places
        .bind::<Binary, _>(row::bytes(agent.uuid()))
        .bind::<Binary, _>(row::bytes(chat.uuid()))
        .bind::<BigInt, _>(page.slice.after().map_or(start, |after| after.key))
        .bind::<BigInt, _>(limit)
        .bind::<BigInt, _>(page.slice.offset())
        .load::<Number>(connection)?;
    // An agent that polls finds nothing most of the time.
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let places = places.into_iter().map(|place| place.number).collect::<Vec<_>>();
    let rows = messages::table
        .filter(messages::chat_id.eq(row::bytes(chat.uuid())))
        .filter(messages::sequence.eq_any(places))
        .select(MessageRow::as_select());
    Ok(match order {
        Order::Ascending => rows.order(messages::sequence.asc()).load(connection)?,
        Order::Descending => rows.order(messages::sequence.desc()).load(connection)?,
    })
}
