//! The executions of an agent.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::control::{Execution, InterruptAgent};
use domain::id::{AgentId, ChatId, ExecutionId, RecordId, UserId};
use domain::page::{Page, PageRequest, Position};
use domain::time::Timestamp;
use uuid::Uuid;

use super::row::ExecutionRow;
use crate::audit;
use crate::error::Fault;
use crate::message::row::status::{FAILED, PROCESSING};
use crate::row::At;
use crate::run::Db;
use crate::schema::{agents, participants};
use crate::statement::{Statement, statement};

type Columns =
    (SqlUuid, Timestamptz, Timestamptz, Nullable<Timestamptz>, Timestamptz, Bool, Bool, Bool, Bool);

/// The executions of an agent with this condition. Each asks for its work along the indexes of open work, and for
/// the oldest processed message; the limits keep PostgreSQL from reading all work of the agent elsewhere.
fn executions(agent: AgentId, condition: &str) -> Statement<'static, Columns> {
    let work = |condition: &str| {
        format!(
            "(SELECT TRUE AS yes FROM deliveries WHERE deliveries.agent_id = participants.participant_id \
             AND deliveries.chat_id = participants.chat_id AND {condition} LIMIT 1)"
        )
    };
    let open = "deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL";
    let at_work = format!("{open} AND deliveries.current_attempt > 0");
    statement(format!(
        "SELECT participants.chat_id, participants.chat_created_at, participants.joined_at, \
         coalesce(participants.stopped_at, participants.agent_paused_at, organizations.paused_at), chats.updated_at, \
         working.yes IS NOT NULL, failed.yes IS NOT NULL, open.yes IS NOT NULL, processed.yes IS NOT NULL \
         FROM participants JOIN chats ON chats.id = participants.chat_id AND chats.deleted_at IS NULL \
         LEFT JOIN organizations ON organizations.id = chats.organization_id \
         LEFT JOIN LATERAL {} AS working ON TRUE LEFT JOIN LATERAL {} AS failed ON TRUE \
         LEFT JOIN LATERAL {} AS open ON TRUE LEFT JOIN LATERAL {} AS processed ON TRUE \
         WHERE participants.participant_id = ? AND participants.left_at IS NULL AND {condition}",
        work(&format!("{at_work} AND {PROCESSING}")),
        work(&format!("{at_work} AND {FAILED}")),
        work(&format!("{open} AND deliveries.addressed")),
        work("deliveries.addressed AND deliveries.processed_at >= participants.joined_at"),
    ))
    .bind::<SqlUuid, _>(agent.uuid())
}

pub(super) async fn list_on(
    mut db: &Db,
    owner: UserId,
    agent: AgentId,
    page: &PageRequest,
) -> Result<Option<Page<Execution>>, Fault> {
    if !is_own_on(db, owner, agent).await? {
        return Ok(None);
    }
    let after = page.slice.after().unwrap_or_else(|| Position::at(i64::MAX, RecordId::MAX));
    let limit = page.slice.limit() as usize;
    let found = executions(
        agent,
        "(participants.chat_created_at, participants.chat_id) < (?, ?) \
         ORDER BY participants.chat_created_at DESC, participants.chat_id DESC LIMIT ?",
    );
    let found = found
        .bind::<Timestamptz, _>(At(Timestamp::from_micros(after.key)))
        .bind::<SqlUuid, _>(after.id.uuid())
        .bind::<BigInt, _>(i64::from(page.slice.limit()) + 1)
        .load::<ExecutionRow>(&mut db)
        .await?;
    let mut rows = found.into_iter().map(|row| row.into_execution(agent)).collect::<Vec<_>>();
    let more = rows.len() > limit;
    rows.truncate(limit);
    Ok(Some(Page::part(rows, more, None, Execution::position)))
}

/// The chat of the execution to interrupt, if its agent is the caller's. It is found among all memberships of the
/// agent, so it is read before the transaction.
pub(super) async fn chat_of_on(mut db: &Db, command: &InterruptAgent) -> Result<Option<ChatId>, Fault> {
    let agent = command.agent;
    if !is_own_on(db, command.by.user, agent).await? {
        return Ok(None);
    }
    let joins = participants::table
        .filter(participants::participant_id.eq(agent.uuid()))
        .filter(participants::left_at.is_null())
        .select((participants::chat_id, participants::joined_at))
        .load::<(Uuid, At)>(&mut db)
        .await?;
    let named = |(chat, At(joined_at)): &(Uuid, At)| {
        ExecutionId::of(ChatId::new(*chat), agent, *joined_at) == command.execution
    };
    Ok(joins.into_iter().find(named).map(|(chat, _)| ChatId::new(chat)))
}

/// Interrupts the agent of an execution that [`chat_of_on`] has found in `chat`, unless it has ended since.
pub(super) async fn interrupt_on(
    mut db: &Db,
    command: &InterruptAgent,
    chat: ChatId,
) -> Result<Option<Execution>, Fault> {
    let agent = command.agent;
    if !is_own_on(db, command.by.user, agent).await? {
        return Ok(None);
    }
    let found = executions(agent, "participants.chat_id = ?")
        .bind::<SqlUuid, _>(chat.uuid())
        .get_result::<ExecutionRow>(&mut db)
        .await
        .optional()?;
    let found = found.map(|row| row.into_execution(agent)).filter(|one| one.id() == command.execution);
    if found.is_some() {
        audit::append_on(db, [AuditEntry::agent_interrupted(command)]).await?;
    }
    Ok(found)
}

async fn is_own_on(mut db: &Db, owner: UserId, agent: AgentId) -> Result<bool, Fault> {
    let own = agents::table
        .find(agent.uuid())
        .filter(agents::owner_id.eq(owner.uuid()))
        .filter(agents::deleted_at.is_null());
    Ok(select(exists(own)).get_result(&mut db).await?)
}
