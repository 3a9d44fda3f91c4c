//! Deleting an agent, and erasing what it has left behind.

use std::collections::BTreeMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::account::{Agent, DeleteAgent, DeleteAgentRefused, DeletedAgent};
use domain::chat::succession::{Standing, heir};
use domain::chat::{Chat, ChatStatus, Participant, ParticipantStatus, Role};
use domain::id::{AgentId, ChatId, ParticipantId};
use domain::time::Timestamp;

use super::find::agent_on;
use crate::chat::row::ChatRow;
use crate::contact;
use crate::error::Fault;
use crate::memory;
use crate::row;
use crate::schema::{agents, api_keys, attempts, chats, deliveries, erasures, participants};

/// The rooms in which an agent has sent something, or been sent something.
const EXECUTIONS: &str = "SELECT count(*) AS number FROM participants AS stay INDEXED BY participants_ever \
     WHERE stay.participant_id = ?1 AND (\
     EXISTS (SELECT 1 FROM messages INDEXED BY messages_by_sender \
             WHERE chat_id = stay.chat_id AND sender_id = ?1) \
     OR EXISTS (SELECT 1 FROM deliveries INDEXED BY deliveries_of_agent \
                WHERE agent_id = ?1 AND chat_id = stay.chat_id AND addressed = 1))";

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
    diesel::update(api_keys::table.filter(api_keys::agent_id.eq(&id)))
        .set(api_keys::revoked_at.eq(now))
        .execute(connection)?;
    diesel::insert_into(erasures::table)
        .values((erasures::agent_id.eq(&id), erasures::requested_at.eq(now)))
        .execute(connection)?;
    let parted = contact::forget_on(connection, agent.id, command.now)?;
    memory::forget_on(connection, agent.id, command.now)?;
    let left = leave_all_on(connection, &agent, command.now)?;
    Ok(Ok(DeletedAgent { agent, executions, left, parted }))
}

/// Takes the agent out of every room, and gives the rooms with what it was in them.
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
    let owned = left.iter().filter(|(_, participant)| participant.role == Role::Owner);
    let owned = owned.map(|(chat, _)| chat.id).collect::<Vec<_>>();
    pass_on_on(connection, agent.id, &owned, now)?;
    let present = participants::table
        .filter(participants::participant_id.eq(&id))
        .filter(participants::left_at.is_null());
    diesel::update(present).set(participants::left_at.eq(now.micros())).execute(connection)?;
    for (chat, _) in &mut left {
        chat.updated_at = now;
        let changed = chats::table.find(row::bytes(chat.id.uuid()));
        diesel::update(changed).set(chats::updated_at.eq(now.micros())).execute(connection)?;
    }
    Ok(left)
}

/// Gives the rooms that `agent` owns to their heirs, and closes those in which nobody is left.
fn pass_on_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    owned: &[ChatId],
    now: Timestamp,
) -> Result<(), Fault> {
    let id = row::bytes(agent.uuid());
    let its_rooms = participants::table
        .filter(participants::participant_id.eq(&id))
        .filter(participants::left_at.is_null())
        .filter(participants::role.eq(Role::Owner.as_str()))
        .select(participants::chat_id);
    let others = diesel::alias!(participants as others);
    let rows = others
        .filter(others.field(participants::chat_id).eq_any(its_rooms))
        .filter(others.field(participants::left_at).is_null())
        .filter(others.field(participants::participant_id).ne(&id))
        .select(others.fields((
            participants::chat_id,
            participants::kind,
            participants::participant_id,
            participants::role,
            participants::joined_at,
        )))
        .load::<(Vec<u8>, String, Vec<u8>, String, i64)>(connection)?;
    let mut left = owned.iter().map(|chat| (*chat, Vec::new())).collect::<BTreeMap<_, _>>();
    for (chat, kind, who, role, joined_at) in rows {
        let standing = Standing {
            id: row::participant_id(&kind, &who)?,
            role: row::word(&role, Role::parse)?,
            joined_at: row::time(joined_at),
        };
        left.entry(row::chat_id(&chat)?).or_default().push(standing);
    }
    for (chat, standings) in left {
        let chat = row::bytes(chat.uuid());
        if let Some(heir) = heir(&standings) {
            diesel::update(participants::table.find((&chat, row::bytes(heir.uuid()))))
                .set(participants::role.eq(Role::Owner.as_str()))
                .execute(connection)?;
        } else if standings.is_empty() {
            diesel::update(chats::table.find(&chat))
                .set((chats::status.eq(ChatStatus::Closed.as_str()), chats::updated_at.eq(now.micros())))
                .execute(connection)?;
        }
    }
    Ok(())
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
