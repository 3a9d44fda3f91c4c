//! The context of an agent in a chat, oldest first.
//!
//! It consists of two lists with an index each: messages that the agent sent, and those addressed
//! to it. They are merged by sequence; the text of a reminder to the agent itself is in both.

use std::sync::LazyLock;

use diesel::sql_types::{BigInt, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{AgentId, ChatId};
use domain::message::Message;
use domain::page::{Order, Page, PageRequest};

use super::own_page::{own_page, own_page_on};
use crate::error::Fault;
use crate::run::Db;
use crate::statement::statement;

/// Both lists merged, each read in the order of its index, so that only skipped and requested
/// entries are read. Bounding the range by the agent on both sides keeps every plan from scanning
/// all that others sent. Values: chat, agent, sequence to begin after, agent, limit; the same once
/// more without the second agent; limit, offset.
const SEQUENCES: &str = "(SELECT sequence FROM messages WHERE chat_id = ? AND sender_kind = 'Agent' AND (sender_id, sequence) > (?, ?) \
       AND (sender_id, sequence) <= (?, 9223372036854775807) ORDER BY sender_id, sequence LIMIT ?) \
     UNION \
     (SELECT sequence FROM deliveries \
       WHERE chat_id = ? AND agent_id = ? AND sequence > ? AND addressed ORDER BY sequence LIMIT ?) \
     ORDER BY sequence LIMIT ? OFFSET ?";

/// The number of entries of both lists. Values: chat and agent, twice.
const TOTAL: &str = "SELECT count(*) FROM (\
     SELECT sequence FROM messages WHERE chat_id = ? AND sender_kind = 'Agent' AND sender_id = ? \
     UNION SELECT sequence FROM deliveries WHERE chat_id = ? AND agent_id = ? AND addressed) AS entries";

static PAGE: LazyLock<String> = LazyLock::new(|| own_page(SEQUENCES, Order::Ascending));

pub(super) async fn context_on(
    db: &Db,
    agent: AgentId,
    chat: ChatId,
    page: &PageRequest,
) -> Result<Option<Page<Message>>, Fault> {
    let behind = page.slice.after().map_or(0, |after| after.key);
    let (limit, offset) = (i64::from(page.slice.limit()) + 1, page.slice.offset());
    let reach = limit.saturating_add(offset);
    let listed = statement(PAGE.as_str())
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<BigInt, _>(behind)
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<BigInt, _>(reach)
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<BigInt, _>(behind)
        .bind::<BigInt, _>(reach)
        .bind::<BigInt, _>(limit)
        .bind::<BigInt, _>(offset);
    let mut found = own_page_on(db, agent, chat, page, listed).await?;
    if page.count
        && let Some(found) = &mut found
    {
        found.total = Some(total_on(db, agent, chat).await?);
    }
    Ok(found)
}

async fn total_on(mut db: &Db, agent: AgentId, chat: ChatId) -> Result<u64, Fault> {
    let mut total = statement::<BigInt>(TOTAL);
    for _ in ["messages", "deliveries"] {
        total = total.bind::<SqlUuid, _>(chat.uuid()).bind::<SqlUuid, _>(agent.uuid());
    }
    Ok(total.get_result::<i64>(&mut db).await?.cast_unsigned())
}
