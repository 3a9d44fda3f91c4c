//! What one agent may know of a room, oldest first.
//!
//! Two lists, each along its own index: what the agent sent, and what was addressed to it. They
//! have nothing in common, because nobody addresses itself; merged by sequence they are one.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::message::Message;
use domain::page::{Page, PageRequest};

use super::load::{MessageRow, Records, messages_on, position};
use crate::chat::row::membership_on;
use crate::error::Fault;
use crate::row;
use crate::schema::{deliveries, messages};

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
    let sent = messages::table
        .filter(messages::chat_id.eq(&chat_column))
        .filter(messages::sender_id.eq(&agent_column));
    let received = deliveries::table
        .filter(deliveries::agent_id.eq(&agent_column))
        .filter(deliveries::chat_id.eq(&chat_column))
        .filter(deliveries::addressed.eq(true));
    let total = if page.count {
        let sent = sent.count().get_result::<i64>(connection)?;
        let received = received.count().get_result::<i64>(connection)?;
        Some((sent + received).cast_unsigned())
    } else {
        None
    };
    let behind = page.slice.after().map_or(0, |after| after.key);
    let wanted = page.slice.offset() + i64::from(page.slice.limit()) + 1;
    let mut sequences = sent
        .filter(messages::sequence.gt(behind))
        .order(messages::sequence)
        .limit(wanted)
        .select(messages::sequence)
        .load::<i64>(connection)?;
    let received = received
        .filter(deliveries::sequence.gt(behind))
        .order(deliveries::sequence)
        .limit(wanted)
        .select(deliveries::sequence)
        .load::<i64>(connection)?;
    sequences.extend(received);
    sequences.sort_unstable();
    let offset = usize::try_from(page.slice.offset()).unwrap_or(usize::MAX);
    let sequences =
        sequences.into_iter().skip(offset).take(page.slice.limit() as usize + 1).collect::<Vec<_>>();

    let rows = messages::table
        .filter(messages::chat_id.eq(&chat_column))
        .filter(messages::sequence.eq_any(sequences))
        .order(messages::sequence)
        .select(MessageRow::as_select())
        .load(connection)?;
    let rows = messages_on(connection, rows, Records::Of(agent))?;
    Ok(Some(Page::from_overfetch(rows, page, total, position)))
}
