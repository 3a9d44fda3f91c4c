//! Deleting an agent, and erasing what it has left behind.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::account::{Agent, DeleteAgent, DeleteAgentRefused, DeletedAgent};
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::chat::{Chat, Participant, ParticipantStatus, Role};
use domain::id::ParticipantId;
use domain::time::Timestamp;

use super::find::agent_on;
use super::keys;
use crate::audit;
use crate::change;
use crate::chat::row::ChatRow;
use crate::contact;
use crate::error::Fault;
use crate::memory;
use crate::row;
use crate::schema::{agents, attempts, chats, deliveries, erasures, participants};

/// The rooms in which an agent has sent something, or been sent something.
const EXECUTIONS: &str = "SELECT count(*) AS number FROM participants AS stay INDEXED BY participants_ever \
     WHERE stay.participant_id = ?1 AND (\
     EXISTS (SELECT 1 FROM messages INDEXED BY messages_by_sender \
             WHERE chat_id = stay.chat_id AND sender_id = ?1) \
     OR EXISTS (SELECT 1 FROM deliveries INDEXED BY deliveries_of_agent \
                WHERE agent_id = ?1 AND chat_id = stay.chat_id AND addressed = 1))";

/// Gives the rooms of the agent `?2` that no other owns to their heirs: among those who are left the
/// first in the order of [`domain::chat::succession::heir`], which is written down here once more so
/// that all rooms pass on at once. A case of the stores' contract compares the two.
const HEIRS: &str = "UPDATE participants SET role = 'owner' WHERE (chat_id, participant_id) IN (\
     SELECT own.chat_id, (\
         SELECT next.participant_id FROM participants AS next INDEXED BY participants_of_account \
         WHERE next.chat_id = own.chat_id AND next.left_at IS NULL AND next.participant_id <> ?2 \
         ORDER BY next.role = 'admin' DESC, next.role <> 'admin' AND next.kind = 'User' DESC, \
             next.joined_at, next.kind = 'User' DESC, next.participant_id \
         LIMIT 1) \
     FROM participants AS own INDEXED BY participants_rooms \
     WHERE own.participant_id = ?2 AND own.left_at IS NULL AND own.role = 'owner' AND NOT EXISTS (\
         SELECT 1 FROM participants AS other INDEXED BY participants_of_account \
         WHERE other.chat_id = own.chat_id AND other.left_at IS NULL AND other.participant_id <> ?2 \
         AND other.role = 'owner'))";

/// Closes the rooms of the agent `?2` in which nobody else is, at `?1`.
const EMPTY_ROOMS: &str = "UPDATE chats SET status = 'closed', updated_at = ?1 WHERE id IN (\
     SELECT own.chat_id FROM participants AS own INDEXED BY participants_rooms \
     WHERE own.participant_id = ?2 AND own.left_at IS NULL AND own.role = 'owner' AND NOT EXISTS (\
         SELECT 1 FROM participants AS other INDEXED BY participants_of_account \
         WHERE other.chat_id = own.chat_id AND other.left_at IS NULL AND other.participant_id <> ?2))";

/// Notes of the rooms of `?2` that they changed, at `?1`.
const ROOMS: &str = "UPDATE chats SET updated_at = ?1 WHERE id IN (SELECT chat_id \
     FROM participants INDEXED BY participants_rooms WHERE participant_id = ?2 AND left_at IS NULL)";

/// Takes `?2` out of all rooms.
const STAYS: &str = "UPDATE participants INDEXED BY participants_rooms SET left_at = ?1 \
     WHERE participant_id = ?2 AND left_at IS NULL";

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

pub(super) fn delete_agent_on(
    connection: &mut SqliteConnection,
    command: &DeleteAgent,
) -> Result<Result<DeletedAgent, DeleteAgentRefused>, Fault> {
    let found = agent_on(connection, command.agent)?.filter(|agent| agent.owner == command.owner);
    let Some(agent) = found else { return Ok(Err(DeleteAgentRefused::NotFound)) };
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
    keys::revoke_all_of_on(connection, agent.id, command.by, command.now)?;
    diesel::insert_into(erasures::table)
        .values((erasures::agent_id.eq(&id), erasures::requested_at.eq(now)))
        .execute(connection)?;
    let parted = contact::forget_on(connection, agent.id, command.now)?;
    memory::forget_on(connection, agent.id, command.now)?;
    let left = leave_all_on(connection, &agent, command.now)?;
    change::append_on(connection, [Change::AgentDeleted(agent.id)], command.now)?;
    audit::append_on(connection, [AuditEntry::agent_deleted(command)])?;
    Ok(Ok(DeletedAgent { agent, executions, left, parted }))
}

/// Takes the agent out of every room, and gives the rooms with what it was in them. However many they
/// are, it takes the same few statements, as nobody else writes meanwhile.
fn leave_all_on(
    connection: &mut SqliteConnection,
    agent: &Agent,
    now: Timestamp,
) -> Result<Vec<(Chat, Participant)>, Fault> {
    let id = row::bytes(agent.id.uuid());
    let stays = participants::table
        .inner_join(chats::table)
        .filter(participants::participant_id.eq(&id))
        .filter(participants::left_at.is_null())
        .filter(chats::deleted_at.is_null())
        .order((participants::chat_created_at.desc(), participants::chat_id.desc()))
        .select((ChatRow::as_select(), participants::role, participants::status, participants::joined_at))
        .load::<(ChatRow, String, String, i64)>(connection)?;
    let mut left = Vec::with_capacity(stays.len());
    for (chat, role, status, joined_at) in stays {
        let participant = Participant {
            id: ParticipantId::Agent(agent.id),
            name: agent.name.clone(),
            handle: agent.handle.as_str().to_owned(),
            description: Some(agent.description.clone()),
            is_external: Some(agent.kind.is_external()),
            owner: Some(agent.owner),
            role: row::word(&role, Role::parse)?,
            status: row::word(&status, ParticipantStatus::parse)?,
            joined_at: row::time(joined_at),
        };
        left.push((chat.into_chat()?, participant));
    }
    // The first three ask where the agent still is.
    for statement in [HEIRS, EMPTY_ROOMS, ROOMS, STAYS] {
        let statement = diesel::sql_query(statement).bind::<BigInt, _>(now.micros());
        statement.bind::<Binary, _>(&id).execute(connection)?;
    }
    for (chat, _) in &mut left {
        chat.updated_at = now;
    }
    Ok(left)
}

pub(super) fn erase_work_on(connection: &mut SqliteConnection, limit: u32) -> Result<bool, Fault> {
    let asked = erasures::table.order(erasures::requested_at).select(erasures::agent_id);
    let Some(agent) = asked.first::<Vec<u8>>(connection).optional()? else { return Ok(false) };
    let addressed = deliveries::table
        .filter(deliveries::agent_id.eq(&agent))
        .filter(diesel::dsl::sql::<diesel::sql_types::Bool>("addressed = 1"))
        .select(deliveries::message_id)
        .limit(i64::from(limit));
    let mut messages = addressed.load::<Vec<u8>>(connection)?;
    if messages.is_empty() {
        let unasked = deliveries::table
            .filter(deliveries::agent_id.eq(&agent))
            .filter(diesel::dsl::sql::<diesel::sql_types::Bool>("addressed = 0"))
            .select(deliveries::message_id)
            .limit(i64::from(limit));
        messages = unasked.load(connection)?;
    }
    if messages.is_empty() {
        diesel::delete(erasures::table.find(&agent)).execute(connection)?;
        return Ok(true);
    }
    let tries =
        attempts::table.filter(attempts::message_id.eq_any(&messages)).filter(attempts::agent_id.eq(&agent));
    diesel::delete(tries).execute(connection)?;
    let work = deliveries::table
        .filter(deliveries::message_id.eq_any(&messages))
        .filter(deliveries::agent_id.eq(&agent));
    diesel::delete(work).execute(connection)?;
    Ok(true)
}
