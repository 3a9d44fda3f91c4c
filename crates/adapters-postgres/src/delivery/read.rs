//! The backlog of an agent, and listings by state.

use diesel::OptionalExtension;
use diesel::sql_types::{BigInt, Nullable, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::ParticipantStatus;
use domain::delivery::{DeliveryFilter, NextMessage};
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::message::Message;
use domain::page::{Order, PAGE_BYTES, Page, PageRequest};

use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::message::load::{Records, part_on, position};
use crate::row;
use crate::run::Db;
use crate::statement::statement;

/// The condition of a filter. It must contain the exact condition of the partial index, or the
/// index cannot be used.
const fn chosen(filter: DeliveryFilter) -> &'static str {
    match filter {
        DeliveryFilter::Open => "status <> 'processed' AND addressed",
        DeliveryFilter::Pending => {
            "status <> 'processed' AND addressed AND status IN ('new', 'delivered', 'failed')"
        }
        DeliveryFilter::Processing => "status <> 'processed' AND addressed AND status = 'processing'",
        DeliveryFilter::Failed => "status <> 'processed' AND addressed AND status = 'failed'",
        DeliveryFilter::Processed => "addressed AND status = 'processed'",
        DeliveryFilter::All => "addressed",
    }
}

/// The agent's membership in the chat, and the sequence of its first open message.
const NEXT: &str = "SELECT participants.status, (SELECT deliveries.sequence FROM deliveries \
     WHERE deliveries.agent_id = participants.participant_id AND deliveries.chat_id = participants.chat_id \
     AND deliveries.status <> 'processed' AND deliveries.addressed ORDER BY deliveries.sequence LIMIT 1) \
     FROM participants JOIN chats ON chats.id = participants.chat_id AND chats.deleted_at IS NULL \
     WHERE participants.chat_id = ? AND participants.participant_id = ? AND participants.left_at IS NULL";

pub(super) async fn next_on(mut db: &Db, agent: AgentId, chat: ChatId) -> Result<Option<NextMessage>, Fault> {
    let found = statement::<(Text, Nullable<BigInt>)>(NEXT)
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<SqlUuid, _>(agent.uuid())
        .get_result::<(String, Option<i64>)>(&mut db)
        .await
        .optional()?;
    let Some((status, place)) = found else { return Ok(None) };
    let places = place.into_iter().collect::<Vec<_>>();
    let (mut rows, _) = part_on(db, chat, &places, Order::Ascending, Records::Of(agent), PAGE_BYTES).await?;
    let membership = row::word(&status, ParticipantStatus::parse)?;
    Ok(Some(NextMessage { membership, message: rows.pop() }))
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
    let mut places = places_on(db, agent, chat, filter, order, page).await?;
    let limit = page.slice.limit() as usize;
    let more = places.len() > limit;
    places.truncate(limit);
    let (rows, cut) = part_on(db, chat, &places, order, Records::Of(agent), page.max_bytes()).await?;
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
async fn places_on(
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
    let places = statement::<BigInt>(format!(
        "SELECT sequence FROM deliveries WHERE agent_id = ? AND chat_id = ? AND {condition} \
         AND sequence {beyond} ? ORDER BY sequence {direction} LIMIT ? OFFSET ?"
    ));
    Ok(places
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<BigInt, _>(page.slice.after().map_or(start, |after| after.key))
        .bind::<BigInt, _>(i64::from(page.slice.limit()) + 1)
        .bind::<BigInt, _>(page.slice.offset())
        .load(&mut db)
        .await?)
}
