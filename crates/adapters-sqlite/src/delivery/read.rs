//! What waits for an agent, and listings by state.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::sqlite::{Sqlite, SqliteConnection};
use domain::delivery::{DeliveryFilter, NextMessage, Order};
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::message::Message;
use domain::page::{Page, PageRequest, Slice};

use crate::chat::row::membership_on;
use crate::error::Fault;
use crate::message::load::{MessageRow, Records, messages_on, position};
use crate::row;
use crate::schema::{deliveries, messages};

/// The words of the partial index `deliveries_open`: without them it would not be used.
const OPEN: &str = "deliveries.status <> 'processed' AND deliveries.addressed = 1";

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
    let total = if page.count {
        let counted = chosen(agent, chat, filter).select(count_star()).first::<i64>(connection)?;
        Some(counted.cast_unsigned())
    } else {
        None
    };
    let limit = i64::from(page.slice.limit()) + 1;
    let rows = rows_on(connection, agent, chat, filter, order, page, limit)?;
    let rows = messages_on(connection, rows, Records::Of(agent))?;
    Ok(Some(Page::from_overfetch(rows, page, total, position)))
}

type Chosen = deliveries::BoxedQuery<'static, Sqlite>;

/// The deliveries of an agent in a room that a filter chooses.
fn chosen(agent: AgentId, chat: ChatId, filter: DeliveryFilter) -> Chosen {
    use diesel::dsl::sql;
    use diesel::sql_types::Bool;

    let own = deliveries::table
        .filter(deliveries::agent_id.eq(row::bytes(agent.uuid())))
        .filter(deliveries::chat_id.eq(row::bytes(chat.uuid())))
        .into_boxed();
    let with = |rows: Chosen, statuses: &[&'static str]| {
        rows.filter(sql::<Bool>(OPEN)).filter(deliveries::status.eq_any(statuses.to_vec()))
    };
    match filter {
        DeliveryFilter::Open => own.filter(sql::<Bool>(OPEN)),
        DeliveryFilter::Pending => with(own, &["new", "delivered", "failed"]),
        DeliveryFilter::Processing => with(own, &["processing"]),
        DeliveryFilter::Failed => with(own, &["failed"]),
        DeliveryFilter::Processed => {
            own.filter(sql::<Bool>("deliveries.addressed = 1")).filter(deliveries::status.eq("processed"))
        }
        DeliveryFilter::All => own.filter(sql::<Bool>("deliveries.addressed = 1")),
    }
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
    let mut places = chosen(agent, chat, filter).select(deliveries::sequence);
    if let Some(after) = page.slice.after() {
        places = match order {
            Order::Ascending => places.filter(deliveries::sequence.gt(after.key)),
            Order::Descending => places.filter(deliveries::sequence.lt(after.key)),
        };
    }
    places = match order {
        Order::Ascending => places.order(deliveries::sequence.asc()),
        Order::Descending => places.order(deliveries::sequence.desc()),
    };
    let places = places.limit(limit).offset(page.slice.offset()).load::<i64>(connection)?;
    let rows = messages::table
        .filter(messages::chat_id.eq(row::bytes(chat.uuid())))
        .filter(messages::sequence.eq_any(places))
        .select(MessageRow::as_select());
    Ok(match order {
        Order::Ascending => rows.order(messages::sequence.asc()).load(connection)?,
        Order::Descending => rows.order(messages::sequence.desc()).load(connection)?,
    })
}
