//! Listings of an agent's deliveries by state.

use diesel::sql_types::{BigInt, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::DeliveryFilter;
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::message::Message;
use domain::page::{Order, Page, PageRequest};

use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::message::load::{Records, part_on, position};
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
    if membership_on(db, ParticipantId::Agent(agent), chat).await?.is_none() {
        return Ok(None);
    }
    let total = if page.count { Some(count_on(db, agent, chat, filter).await?) } else { None };
    let mut sequences = sequences_on(db, agent, chat, filter, order, page).await?;
    let limit = page.slice.limit() as usize;
    let more = sequences.len() > limit;
    sequences.truncate(limit);
    let (rows, cut) = part_on(db, chat, &sequences, order, Records::Of(agent), page.max_bytes()).await?;
    Ok(Some(Page::part(rows, more || cut, total, position)))
}

async fn count_on(mut db: &Db, agent: AgentId, chat: ChatId, filter: DeliveryFilter) -> Result<u64, Fault> {
    let condition = chosen(filter);
    let counted = statement::<BigInt>(format!(
        "SELECT count(*) FROM deliveries WHERE agent_id = ? AND chat_id = ? AND {condition}"
    ));
    let counted = counted.bind::<SqlUuid, _>(agent.uuid()).bind::<SqlUuid, _>(chat.uuid());
    Ok(counted.get_result::<i64>(&mut db).await?.cast_unsigned())
}

/// The sequences of a page's messages in the chat, and one more.
async fn sequences_on(
    mut db: &Db,
    agent: AgentId,
    chat: ChatId,
    filter: DeliveryFilter,
    order: Order,
    page: &PageRequest,
) -> Result<Vec<i64>, Fault> {
    let condition = chosen(filter);
    let (beyond, direction, start) = match order {
        Order::Ascending => (">", "ASC", 0),
        Order::Descending => ("<", "DESC", i64::MAX),
    };
    let sequences = statement::<BigInt>(format!(
        "SELECT sequence FROM deliveries WHERE agent_id = ? AND chat_id = ? AND {condition} \
         AND sequence {beyond} ? ORDER BY sequence {direction} LIMIT ? OFFSET ?"
    ));
    Ok(sequences
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<BigInt, _>(page.slice.after().map_or(start, |after| after.key))
        .bind::<BigInt, _>(i64::from(page.slice.limit()) + 1)
        .bind::<BigInt, _>(page.slice.offset())
        .load(&mut db)
        .await?)
}
