//! Listings of an agent's deliveries by state.

use diesel::sql_types::{BigInt, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::DeliveryFilter;
use domain::id::{AgentId, ChatId};
use domain::message::Message;
use domain::page::{Order, Page, PageRequest};

use crate::error::Fault;
use crate::message::own_page::{own_page, own_page_on};
use crate::message::row::status::{FAILED, PROCESSING};
use crate::run::Db;
use crate::statement::statement;

/// The condition of a filter. It must contain the exact condition of the partial index, or the
/// index cannot be used.
fn chosen(filter: DeliveryFilter) -> String {
    const OPEN: &str = "processed_at IS NULL AND dead_at IS NULL AND addressed";
    match filter {
        DeliveryFilter::Open => OPEN.to_owned(),
        DeliveryFilter::Pending => format!("{OPEN} AND NOT {PROCESSING}"),
        DeliveryFilter::Processing => format!("{OPEN} AND {PROCESSING}"),
        DeliveryFilter::Failed => format!("{OPEN} AND {FAILED}"),
        DeliveryFilter::Processed => "addressed AND processed_at IS NOT NULL".to_owned(),
        DeliveryFilter::All => "addressed".to_owned(),
    }
}

pub(super) async fn list_on(
    db: &Db,
    agent: AgentId,
    chat: ChatId,
    filter: DeliveryFilter,
    order: Order,
    page: &PageRequest,
) -> Result<Option<Page<Message>>, Fault> {
    let condition = chosen(filter);
    let (beyond, direction, start) = match order {
        Order::Ascending => (">", "ASC", 0),
        Order::Descending => ("<", "DESC", i64::MAX),
    };
    let sequences = format!(
        "SELECT sequence FROM deliveries WHERE agent_id = ? AND chat_id = ? AND {condition} \
         AND sequence {beyond} ? ORDER BY sequence {direction} LIMIT ? OFFSET ?"
    );
    let listed = statement(own_page(&sequences, order))
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<BigInt, _>(page.slice.after().map_or(start, |after| after.key))
        .bind::<BigInt, _>(i64::from(page.slice.limit()) + 1)
        .bind::<BigInt, _>(page.slice.offset());
    let mut found = own_page_on(db, agent, chat, page, listed).await?;
    if page.count
        && let Some(found) = &mut found
    {
        found.total = Some(count_on(db, agent, chat, filter).await?);
    }
    Ok(found)
}

async fn count_on(mut db: &Db, agent: AgentId, chat: ChatId, filter: DeliveryFilter) -> Result<u64, Fault> {
    let condition = chosen(filter);
    let counted = statement::<BigInt>(format!(
        "SELECT count(*) FROM deliveries WHERE agent_id = ? AND chat_id = ? AND {condition}"
    ));
    let counted = counted.bind::<SqlUuid, _>(agent.uuid()).bind::<SqlUuid, _>(chat.uuid());
    Ok(counted.get_result::<i64>(&mut db).await?.cast_unsigned())
}
