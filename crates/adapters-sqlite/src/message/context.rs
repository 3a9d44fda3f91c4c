//! The context of an agent in a chat, oldest first.
//!
//! It consists of two lists with an index each: messages that the agent sent, and those addressed
//! to it. They are merged by sequence; the text of a reminder to the agent itself is in both.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::message::Message;
use domain::page::{Order, Page, PageRequest};

use super::load::{Records, part_on, position};
use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::row;
use crate::statement::statement;

/// Both lists merged, each read in the order of its index, so that only skipped and requested
/// entries are read. Values: agent, chat, and sequence to begin after, for either list; limit,
/// offset.
///
/// With `+ 0` the plan does not depend on the value of the limit, so it holds for all.
const SEQUENCES: &str = "SELECT sequence FROM messages \
     WHERE sender_kind = 'Agent' AND sender_id = ? AND chat_id = ? AND sequence > ? \
     UNION \
     SELECT sequence FROM deliveries \
     WHERE agent_id = ? AND chat_id = ? AND sequence > ? AND addressed = 1 \
     ORDER BY sequence LIMIT ? + 0 OFFSET ? + 0";

/// The number of entries of both lists, which are merged like those. Values: agent and chat, twice.
const TOTAL: &str = "SELECT count(*) FROM (\
     SELECT sequence FROM messages WHERE sender_kind = 'Agent' AND sender_id = ? AND chat_id = ? \
     UNION SELECT sequence FROM deliveries WHERE agent_id = ? AND chat_id = ? AND addressed = 1 ORDER BY sequence)";

pub(super) fn context_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
    page: PageRequest,
) -> Result<Option<Page<Message>>, Fault> {
    if membership_on(connection, ParticipantId::Agent(agent), chat)?.is_none() {
        return Ok(None);
    }
    let (agent_column, chat_column) = (row::bytes(agent.uuid()), row::bytes(chat.uuid()));
    let total = if page.count {
        let total = statement!(TOTAL => BigInt)
            .bind::<Binary, _>(&agent_column)
            .bind::<Binary, _>(&chat_column)
            .bind::<Binary, _>(&agent_column)
            .bind::<Binary, _>(&chat_column);
        Some(total.get_result::<i64>(connection)?.cast_unsigned())
    } else {
        None
    };
    let behind = page.slice.after().map_or(0, |after| after.key);
    let mut sequences = statement!(SEQUENCES => BigInt)
        .bind::<Binary, _>(&agent_column)
        .bind::<Binary, _>(&chat_column)
        .bind::<BigInt, _>(behind)
        .bind::<Binary, _>(&agent_column)
        .bind::<Binary, _>(&chat_column)
        .bind::<BigInt, _>(behind)
        .bind::<BigInt, _>(i64::from(page.slice.limit()) + 1)
        .bind::<BigInt, _>(page.slice.offset())
        .load::<i64>(connection)?;
    let limit = page.slice.limit() as usize;
    let more = sequences.len() > limit;
    sequences.truncate(limit);
    let (rows, cut) =
        part_on(connection, chat, &sequences, Order::Ascending, Records::Of(agent), page.max_bytes())?;
    Ok(Some(Page::part(rows, more || cut, total, position)))
}
