//! Deleting an agent, and erasing its data.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::account::{DeleteAgent, DeleteAgentRefused, DeletedAgent};
use domain::audit::AuditEntry;
use domain::board::{Actor, DropReason};
use domain::change::Change;
use domain::chat::Participant;
use domain::id::{AgentId, ParticipantId};
use uuid::Uuid;

use super::update::owned_on;
use super::{keys, leave};
use crate::audit;
use crate::board;
use crate::change;
use crate::contact;
use crate::error::Fault;
use crate::legal_hold;
use crate::lock;
use crate::memory;
use crate::message::record_key::RecordKeys;
use crate::push;
use crate::reminder;
use crate::row::At;
use crate::run::Db;
use crate::schema::{agent_connections, agent_doors, agents, deletion_jobs};
use crate::statement::statement;
use crate::webhook;

/// The number of chats in which an agent has sent or received a message. Seeks along the index of
/// senders, since a chat may be long. The value is the agent, four times.
const EXECUTIONS: &str = "SELECT count(*) FROM participants AS stay WHERE stay.participant_id = ? AND (\
     (SELECT sequence FROM messages WHERE chat_id = stay.chat_id AND sender_kind = 'Agent' AND (sender_id, sequence) > (?, 0) \
      AND (sender_id, sequence) <= (?, 9223372036854775807) ORDER BY sender_id, sequence LIMIT 1) IS NOT NULL \
     OR EXISTS (SELECT 1 FROM deliveries WHERE agent_id = ? AND chat_id = stay.chat_id AND addressed))";

pub(crate) async fn delete_agent_on(
    mut db: &Db,
    command: &DeleteAgent,
) -> Result<Result<DeletedAgent, DeleteAgentRefused>, Fault> {
    let is_kept = legal_hold::keeps_party_on(db, command.agent.into()).await?;
    // From here on the agent cannot be added to a chat, and no other change writes to its chats.
    let found = owned_on(db, command.agent, command.owner).await?;
    let Some(agent) = found else { return Ok(Err(DeleteAgentRefused::NotFound)) };
    let agent = agent.into_agent()?;
    if is_kept {
        return Ok(Err(DeleteAgentRefused::UnderHold));
    }
    let who = ParticipantId::Agent(agent.id);
    lock::chats_of_on(db, who).await?;
    let executions = executions_on(db, agent.id).await?;
    if executions > 0 && !command.force {
        return Ok(Err(DeleteAgentRefused::HasWorked { executions }));
    }
    let (id, now) = (agent.id.uuid(), At(command.now));
    diesel::update(agents::table.find(id))
        .set((agents::deleted_at.eq(now), agents::updated_at.eq(now)))
        .execute(&mut db)
        .await?;
    let keys = keys::revoke_all_of_on(db, who, command.by, command.now).await?;
    diesel::insert_into(deletion_jobs::table)
        .values((deletion_jobs::agent_id.eq(id), deletion_jobs::requested_at.eq(now)))
        .execute(&mut db)
        .await?;
    diesel::delete(agent_connections::table.filter(agent_connections::agent_id.eq(id)))
        .execute(&mut db)
        .await?;
    diesel::delete(agent_doors::table.filter(agent_doors::agent_id.eq(id))).execute(&mut db).await?;
    webhook::remove_on(db, agent.id).await?;
    push::forget_on(db, who).await?;
    let left =
        leave::all_on(db, who, |role, since| Participant::of_agent(&agent, role, since), command.now).await?;
    let actor = Actor::from(&agent);
    reminder::erase_of_sender_on(db, who).await?;
    let dropped = board::drop_on(db, &actor, None, DropReason::Deleted, command.now).await?;
    let parted = contact::forget_on(db, who, command.now).await?;
    memory::forget_on(db, agent.id, command.now).await?;
    audit::append_on(db, [AuditEntry::agent_deleted(command)]).await?;
    let revoked = keys.into_iter().map(|key| Change::KeyRevoked(key.id));
    change::append_on(db, revoked.chain([Change::AgentDeleted(agent.id)]), command.now).await?;
    Ok(Ok(DeletedAgent { agent, executions, left, dropped, parted }))
}

async fn executions_on(mut db: &Db, agent: AgentId) -> Result<u64, Fault> {
    let counting = statement::<BigInt>(EXECUTIONS)
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<SqlUuid, _>(agent.uuid());
    Ok(counting.get_result::<i64>(&mut db).await?.cast_unsigned())
}

/// The oldest deletion that no other process is working on.
const NEXT_ERASURE: &str =
    "SELECT agent_id FROM deletion_jobs ORDER BY requested_at, agent_id LIMIT 1 FOR UPDATE SKIP LOCKED";

const RECORDS: &str =
    "SELECT chat_id, sequence FROM deliveries WHERE agent_id = ? ORDER BY chat_id, sequence LIMIT ?";

pub(super) async fn erase_work_on(mut db: &Db, limit: u32) -> Result<bool, Fault> {
    let next = statement::<SqlUuid>(NEXT_ERASURE).get_result::<Uuid>(&mut db).await.optional()?;
    let Some(agent) = next else { return Ok(false) };
    let records = statement::<(SqlUuid, BigInt)>(RECORDS)
        .bind::<SqlUuid, _>(agent)
        .bind::<BigInt, _>(i64::from(limit))
        .load::<(Uuid, i64)>(&mut db)
        .await?;
    let records = records.into_iter().map(|(chat, sequence)| (agent, chat, sequence)).collect::<RecordKeys>();
    if records.is_empty() {
        // Uses that another server noted during the deletion.
        diesel::delete(agent_doors::table.filter(agent_doors::agent_id.eq(agent))).execute(&mut db).await?;
        diesel::delete(deletion_jobs::table.find(agent)).execute(&mut db).await?;
    } else {
        records.erase_on(db).await?;
    }
    Ok(true)
}
