//! Deleting an agent, and erasing its data.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::account::{DeleteAgent, DeleteAgentRefused, DeletedAgent};
use domain::audit::AuditEntry;
use domain::board::{Actor, DropReason};
use domain::change::Change;
use domain::chat::Participant;
use domain::id::ParticipantId;

use super::find::agent_on;
use super::{keys, leave};
use crate::audit;
use crate::board;
use crate::change;
use crate::contact;
use crate::error::Fault;
use crate::legal_hold;
use crate::memory;
use crate::push;
use crate::reminder;
use crate::row;
use crate::schema::{agent_connections, agent_doors, agents, deletion_jobs};
use crate::webhook;

/// The number of chats in which an agent has sent or received a message.
const EXECUTIONS: &str = "SELECT count(*) AS number FROM participants AS stay INDEXED BY participants_ever \
     WHERE stay.participant_id = ?1 AND (\
     EXISTS (SELECT 1 FROM messages INDEXED BY messages_by_sender \
             WHERE chat_id = stay.chat_id AND sender_id = ?1 AND sender_kind = 'Agent') \
     OR EXISTS (SELECT 1 FROM deliveries \
                WHERE agent_id = ?1 AND chat_id = stay.chat_id AND addressed = 1))";

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

pub(crate) fn delete_agent_on(
    connection: &mut SqliteConnection,
    command: &DeleteAgent,
) -> Result<Result<DeletedAgent, DeleteAgentRefused>, Fault> {
    let found = agent_on(connection, command.agent)?.filter(|agent| agent.owner == command.owner);
    let Some(agent) = found else { return Ok(Err(DeleteAgentRefused::NotFound)) };
    if legal_hold::keeps_party_on(connection, agent.id.into())? {
        return Ok(Err(DeleteAgentRefused::UnderHold));
    }
    let id = row::bytes(agent.id.uuid());
    let counted = diesel::sql_query(EXECUTIONS).bind::<Binary, _>(&id).get_result::<Counted>(connection)?;
    let executions = counted.number.cast_unsigned();
    if executions > 0 && !command.force {
        return Ok(Err(DeleteAgentRefused::HasWorked { executions }));
    }
    let now = command.now.micros();
    diesel::update(agents::table.find(&id))
        .set((agents::deleted_at.eq(now), agents::updated_at.eq(now)))
        .execute(connection)?;
    let who = ParticipantId::Agent(agent.id);
    keys::revoke_all_of_on(connection, who, command.by, command.now)?;
    diesel::insert_into(deletion_jobs::table)
        .values((deletion_jobs::agent_id.eq(&id), deletion_jobs::requested_at.eq(now)))
        .execute(connection)?;
    diesel::delete(agent_connections::table.filter(agent_connections::agent_id.eq(&id)))
        .execute(connection)?;
    diesel::delete(agent_doors::table.filter(agent_doors::agent_id.eq(&id))).execute(connection)?;
    webhook::remove_on(connection, agent.id)?;
    push::forget_on(connection, who)?;
    let parted = contact::forget_on(connection, who, command.now)?;
    memory::forget_on(connection, agent.id, command.now)?;
    let left = leave::all_on(
        connection,
        who,
        |role, since| Participant::of_agent(&agent, role, since),
        command.now,
    )?;
    reminder::erase_of_sender_on(connection, who)?;
    let dropped = board::drop_on(connection, &Actor::from(&agent), None, DropReason::Deleted, command.now)?;
    change::append_on(connection, [Change::AgentDeleted(agent.id)], command.now)?;
    audit::append_on(connection, [AuditEntry::agent_deleted(command)])?;
    Ok(Ok(DeletedAgent { agent, executions, left, dropped, parted }))
}

pub(super) fn erase_work_on(connection: &mut SqliteConnection, limit: u32) -> Result<bool, Fault> {
    let asked = deletion_jobs::table.order(deletion_jobs::requested_at).select(deletion_jobs::agent_id);
    let Some(agent) = asked.first::<Vec<u8>>(connection).optional()? else { return Ok(false) };
    let mut erase = |table: &str| {
        let some = diesel::sql_query(format!(
            "DELETE FROM {table} WHERE (agent_id, chat_id, sequence) IN (\
             SELECT agent_id, chat_id, sequence FROM deliveries WHERE agent_id = ?1 \
             ORDER BY chat_id, sequence LIMIT ?2)"
        ));
        some.bind::<Binary, _>(&agent).bind::<BigInt, _>(i64::from(limit)).execute(connection)
    };
    erase("attempts")?;
    if erase("deliveries")? == 0 {
        diesel::delete(deletion_jobs::table.find(&agent)).execute(connection)?;
    }
    Ok(true)
}
