//! Deleting an agent, and erasing what it has left behind.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::account::{Agent, DeleteAgent, DeleteAgentRefused, DeletedAgent};
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::chat::{Chat, Participant, ParticipantStatus, Role};
use domain::id::{AgentId, ParticipantId};
use domain::time::Timestamp;
use uuid::Uuid;

use super::keys;
use super::update::owned_on;
use crate::audit;
use crate::change;
use crate::chat::row::ChatRow;
use crate::contact;
use crate::error::Fault;
use crate::lock;
use crate::memory;
use crate::row::{self, At};
use crate::run::{Db, Never};
use crate::schema::{agents, attempts, chats, deliveries, erasures, participants};
use crate::statement::statement;

/// The rooms in which an agent has sent something, or been sent something; along the index of senders, as a
/// room may be long. The values are it, four times.
const EXECUTIONS: &str = "SELECT count(*) FROM participants AS stay WHERE stay.participant_id = ? AND (\
     (SELECT sequence FROM messages WHERE chat_id = stay.chat_id AND (sender_id, sequence) > (?, 0) \
      AND (sender_id, sequence) <= (?, 9223372036854775807) ORDER BY sender_id, sequence LIMIT 1) IS NOT NULL \
     OR EXISTS (SELECT 1 FROM deliveries WHERE agent_id = ? AND chat_id = stay.chat_id AND addressed))";

/// Gives the rooms of the agent that no other owns to their heirs: among those who are left the
/// first in the order of [`domain::chat::succession::heir`], which is written down here once more so
/// that all rooms pass on at once. A case of the stores' contract compares the two. The values are the
/// agent, three times.
const HEIRS: &str = "UPDATE participants SET role = 'owner' WHERE (chat_id, participant_id) IN (\
     SELECT own.chat_id, (\
         SELECT next.participant_id FROM participants AS next \
         WHERE next.chat_id = own.chat_id AND next.left_at IS NULL AND next.participant_id <> ? \
         ORDER BY next.role = 'admin' DESC, (next.role <> 'admin' AND next.kind = 'User') DESC, \
             next.joined_at, next.kind = 'User' DESC, next.participant_id \
         LIMIT 1) \
     FROM participants AS own \
     WHERE own.participant_id = ? AND own.left_at IS NULL AND own.role = 'owner' AND NOT EXISTS (\
         SELECT 1 FROM participants AS other \
         WHERE other.chat_id = own.chat_id AND other.left_at IS NULL AND other.participant_id <> ? \
         AND other.role = 'owner'))";

/// Closes the rooms of the agent in which nobody else is. The values are the time, the agent, the agent.
const EMPTY_ROOMS: &str = "UPDATE chats SET status = 'closed', updated_at = ? WHERE id IN (\
     SELECT own.chat_id FROM participants AS own \
     WHERE own.participant_id = ? AND own.left_at IS NULL AND own.role = 'owner' AND NOT EXISTS (\
         SELECT 1 FROM participants AS other \
         WHERE other.chat_id = own.chat_id AND other.left_at IS NULL AND other.participant_id <> ?))";

/// Notes of the rooms of the agent that they changed. The values are the time and the agent.
const ROOMS: &str = "UPDATE chats SET updated_at = ? WHERE id IN (\
     SELECT chat_id FROM participants WHERE participant_id = ? AND left_at IS NULL)";

/// Takes the agent out of all rooms. The values are the time and the agent.
const STAYS: &str = "UPDATE participants SET left_at = ? WHERE participant_id = ? AND left_at IS NULL";

pub(super) async fn delete_agent_on(
    mut db: &Db,
    command: &DeleteAgent,
) -> Result<Result<DeletedAgent, DeleteAgentRefused>, Fault> {
    // From here on nobody takes it into a room, and nothing is written in its rooms but this.
    let found = owned_on(db, command.agent, command.owner).await?;
    let Some(agent) = found else { return Ok(Err(DeleteAgentRefused::NotFound)) };
    let agent = agent.into_agent()?;
    lock::rooms_of_on(db, agent.id).await?;
    let executions = executions_on(db, agent.id).await?;
    if executions > 0 && !command.force {
        return Ok(Err(DeleteAgentRefused::HasWorked { executions }));
    }
    let (id, now) = (agent.id.uuid(), At(command.now));
    diesel::update(agents::table.find(id))
        .set((agents::deleted_at.eq(now), agents::updated_at.eq(now)))
        .execute(&mut db)
        .await?;
    let keys = keys::revoke_all_of_on(db, agent.id, command.by, command.now).await?;
    diesel::insert_into(erasures::table)
        .values((erasures::agent_id.eq(id), erasures::requested_at.eq(now)))
        .execute(&mut db)
        .await?;
    let left = leave_all_on(db, &agent, command.now).await?;
    let parted = contact::forget_on(db, agent.id, command.now).await?;
    memory::forget_on(db, agent.id, command.now).await?;
    audit::append_on(db, [AuditEntry::agent_deleted(command)]).await?;
    let revoked = keys.into_iter().map(|key| Change::KeyRevoked(key.id));
    change::append_on(db, revoked.chain([Change::AgentDeleted(agent.id)]), command.now).await?;
    Ok(Ok(DeletedAgent { agent, executions, left, parted }))
}

async fn executions_on(mut db: &Db, agent: AgentId) -> Result<u64, Fault> {
    let counting = statement::<BigInt>(EXECUTIONS)
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<SqlUuid, _>(agent.uuid());
    Ok(counting.get_result::<i64>(&mut db).await?.cast_unsigned())
}

/// Takes the agent out of every room, and gives the rooms with what it was in them. However many they
/// are, it takes the same few statements, as all of them are held.
async fn leave_all_on(mut db: &Db, agent: &Agent, now: Timestamp) -> Result<Vec<(Chat, Participant)>, Fault> {
    let stays = participants::table
        .inner_join(chats::table)
        .filter(participants::participant_id.eq(agent.id.uuid()))
        .filter(participants::left_at.is_null())
        .filter(chats::deleted_at.is_null())
        .order((participants::chat_created_at.desc(), participants::chat_id.desc()))
        .select((ChatRow::as_select(), participants::role, participants::status, participants::joined_at))
        .load::<(ChatRow, String, String, At)>(&mut db)
        .await?;
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
            joined_at: joined_at.0,
        };
        left.push((chat.into_chat()?, participant));
    }
    vacate_on(db, agent.id, At(now)).await?;
    for (chat, _) in &mut left {
        chat.updated_at = now;
    }
    Ok(left)
}

/// The first three ask where the agent still is.
async fn vacate_on(mut db: &Db, agent: AgentId, now: At) -> Result<(), Fault> {
    let id = agent.uuid();
    statement::<()>(HEIRS)
        .bind::<SqlUuid, _>(id)
        .bind::<SqlUuid, _>(id)
        .bind::<SqlUuid, _>(id)
        .execute(&mut db)
        .await?;
    statement::<()>(EMPTY_ROOMS)
        .bind::<Timestamptz, _>(now)
        .bind::<SqlUuid, _>(id)
        .bind::<SqlUuid, _>(id)
        .execute(&mut db)
        .await?;
    for text in [ROOMS, STAYS] {
        let noting = statement::<()>(text).bind::<Timestamptz, _>(now).bind::<SqlUuid, _>(id);
        noting.execute(&mut db).await?;
    }
    Ok(())
}

/// The deletion that waits longest and that no other process is at.
const NEXT_ERASURE: &str =
    "SELECT agent_id FROM erasures ORDER BY requested_at, agent_id LIMIT 1 FOR UPDATE SKIP LOCKED";

const ADDRESSED: &str = "SELECT message_id FROM deliveries WHERE agent_id = ? AND addressed LIMIT ?";
const UNADDRESSED: &str = "SELECT message_id FROM deliveries WHERE agent_id = ? AND NOT addressed LIMIT ?";

pub(super) async fn erase_work_on(mut db: &Db, limit: u32) -> Result<Result<bool, Never>, Fault> {
    let next = statement::<SqlUuid>(NEXT_ERASURE).get_result::<Uuid>(&mut db).await.optional()?;
    let Some(agent) = next else { return Ok(Ok(false)) };
    let mut messages = messages_on(db, ADDRESSED, agent, limit).await?;
    if messages.is_empty() {
        messages = messages_on(db, UNADDRESSED, agent, limit).await?;
    }
    if messages.is_empty() {
        diesel::delete(erasures::table.find(agent)).execute(&mut db).await?;
        return Ok(Ok(true));
    }
    // Who is at work on a delivery still is waited for; the tries they have made go after it.
    let work = deliveries::table
        .filter(deliveries::message_id.eq_any(&messages))
        .filter(deliveries::agent_id.eq(agent));
    diesel::delete(work).execute(&mut db).await?;
    let tries =
        attempts::table.filter(attempts::message_id.eq_any(&messages)).filter(attempts::agent_id.eq(agent));
    diesel::delete(tries).execute(&mut db).await?;
    Ok(Ok(true))
}

async fn messages_on(mut db: &Db, text: &'static str, agent: Uuid, limit: u32) -> Result<Vec<Uuid>, Fault> {
    let found = statement::<SqlUuid>(text).bind::<SqlUuid, _>(agent).bind::<BigInt, _>(i64::from(limit));
    Ok(found.load(&mut db).await?)
}
