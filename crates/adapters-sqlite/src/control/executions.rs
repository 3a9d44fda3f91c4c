//! The executions of an agent.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable};
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::control::{Execution, InterruptAgent};
use domain::id::{AgentId, ChatId, ExecutionId, RecordId, UserId};
use domain::page::{Page, PageRequest, Position};

use super::row::ExecutionRow;
use crate::audit;
use crate::error::Fault;
use crate::message::row::status::{FAILED, PROCESSING};
use crate::row::{self, Id};
use crate::schema::{agents, participants};
use crate::statement::statement;

type Columns = (Binary, BigInt, BigInt, Nullable<BigInt>, BigInt, Bool, Bool, Bool, Bool);

/// The executions of the agent in the first value, with this condition. Each asks for its work along the indexes of
/// open work, and for the oldest processed message.
macro_rules! executions {
    ($condition:literal) => {
        statement!(
            "SELECT participants.chat_id, participants.chat_created_at, participants.joined_at, \
             coalesce(participants.stopped_at, participants.agent_paused_at, organizations.paused_at), chats.updated_at, \
             EXISTS (SELECT 1 FROM deliveries INDEXED BY deliveries_at_work \
             WHERE deliveries.agent_id = participants.participant_id AND deliveries.chat_id = participants.chat_id \
             AND deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL \
             AND deliveries.current_attempt > 0 AND ",
            PROCESSING,
            "), EXISTS (SELECT 1 FROM deliveries INDEXED BY deliveries_at_work \
             WHERE deliveries.agent_id = participants.participant_id AND deliveries.chat_id = participants.chat_id \
             AND deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL \
             AND deliveries.current_attempt > 0 AND ",
            FAILED,
            "), EXISTS (SELECT 1 FROM deliveries INDEXED BY deliveries_open \
             WHERE deliveries.agent_id = participants.participant_id AND deliveries.chat_id = participants.chat_id \
             AND deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL AND deliveries.addressed = 1), \
             EXISTS (SELECT 1 FROM deliveries \
             WHERE deliveries.agent_id = participants.participant_id AND deliveries.chat_id = participants.chat_id \
             AND deliveries.addressed = 1 AND deliveries.processed_at >= participants.joined_at) \
             FROM participants CROSS JOIN chats ON chats.id = participants.chat_id AND chats.deleted_at IS NULL \
             LEFT JOIN organizations ON organizations.id = chats.organization_id \
             WHERE participants.participant_id = ? AND participants.left_at IS NULL AND ",
            $condition
            => Columns
        )
    };
}

pub(super) fn list_on(
    connection: &mut SqliteConnection,
    owner: UserId,
    agent: AgentId,
    page: &PageRequest,
) -> Result<Option<Page<Execution>>, Fault> {
    if !is_own_on(connection, owner, agent)? {
        return Ok(None);
    }
    let after = page.slice.after().unwrap_or_else(|| Position::at(i64::MAX, RecordId::MAX));
    let limit = page.slice.limit() as usize;
    // The first condition on the position is redundant; it lets the index scan start there.
    let found = executions!(
        "participants.chat_created_at <= ? AND (participants.chat_created_at < ? OR participants.chat_id < ?) \
         ORDER BY participants.chat_created_at DESC, participants.chat_id DESC LIMIT ?"
    );
    let found = found
        .bind::<Binary, _>(Id(agent.uuid()))
        .bind::<BigInt, _>(after.key)
        .bind::<BigInt, _>(after.key)
        .bind::<Binary, _>(Id(after.id.uuid()))
        .bind::<BigInt, _>(i64::from(page.slice.limit()) + 1)
        .load::<ExecutionRow>(connection)?;
    let mut rows = found.into_iter().map(|row| row.into_execution(agent)).collect::<Vec<_>>();
    let more = rows.len() > limit;
    rows.truncate(limit);
    Ok(Some(Page::part(rows, more, None, Execution::position)))
}

/// The chat of the execution to interrupt, if its agent is the caller's. It is found among all memberships of the
/// agent, so it is read before the writer is taken.
pub(super) fn chat_of_on(
    connection: &mut SqliteConnection,
    command: &InterruptAgent,
) -> Result<Option<ChatId>, Fault> {
    let agent = command.agent;
    if !is_own_on(connection, command.by.user, agent)? {
        return Ok(None);
    }
    let joins = participants::table
        .filter(participants::participant_id.eq(row::bytes(agent.uuid())))
        .filter(participants::left_at.is_null())
        .select((participants::chat_id, participants::joined_at))
        .load::<(Vec<u8>, i64)>(connection)?;
    for (chat, joined_at) in joins {
        let chat = row::chat_id(&chat)?;
        if ExecutionId::of(chat, agent, row::time(joined_at)) == command.execution {
            return Ok(Some(chat));
        }
    }
    Ok(None)
}

/// Interrupts the agent of an execution that [`chat_of_on`] has found in `chat`, unless it has ended since.
pub(super) fn interrupt_on(
    connection: &mut SqliteConnection,
    command: &InterruptAgent,
    chat: ChatId,
) -> Result<Option<Execution>, Fault> {
    if !is_own_on(connection, command.by.user, command.agent)? {
        return Ok(None);
    }
    let found = in_chat_on(connection, command.agent, chat)?;
    let found = found.filter(|execution| execution.id() == command.execution);
    if found.is_some() {
        audit::append_on(connection, [AuditEntry::agent_interrupted(command)])?;
    }
    Ok(found)
}

fn in_chat_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    chat: ChatId,
) -> Result<Option<Execution>, Fault> {
    let found = executions!("participants.chat_id = ?")
        .bind::<Binary, _>(Id(agent.uuid()))
        .bind::<Binary, _>(Id(chat.uuid()))
        .get_result::<ExecutionRow>(connection)
        .optional()?;
    Ok(found.map(|row| row.into_execution(agent)))
}

fn is_own_on(connection: &mut SqliteConnection, owner: UserId, agent: AgentId) -> Result<bool, Fault> {
    let own = agents::table
        .find(row::bytes(agent.uuid()))
        .filter(agents::owner_id.eq(row::bytes(owner.uuid())))
        .filter(agents::deleted_at.is_null());
    Ok(select(exists(own)).get_result(connection)?)
}
