//! Storing a stop of a chat's agents, and its end.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::chat::{Chat, ShownChat, StopRefused};
use domain::control::{AgentInChat, SetStopped, StoppedChat};
use domain::id::{ExecutionId, ParticipantId};

use crate::chat::load::{chat_on, standing_on};
use crate::chat::rename::shown_on;
use crate::error::Fault;
use crate::schema::{chats, organizations, participants};
use crate::{audit, change, row};

pub(super) fn set_stopped_on(
    connection: &mut SqliteConnection,
    command: &SetStopped,
) -> Result<Result<StoppedChat, StopRefused>, Fault> {
    let standing = standing_on(connection, ParticipantId::User(command.by.user), command.chat)?;
    if let Err(refused) = standing.decide_stop() {
        return Ok(Err(refused));
    }
    let Some(mut chat) = chat_on(connection, command.chat)? else {
        return Ok(Err(StopRefused::ChatNotFound));
    };
    let column = row::bytes(command.chat.uuid());
    let present = || {
        participants::table
            .filter(participants::chat_id.eq(&column))
            .filter(participants::kind.eq("Agent"))
            .filter(participants::left_at.is_null())
    };
    let others = present().filter(participants::stopped_at.is_null().eq(command.stopped));
    let stop = command.stopped.then_some(command.now.micros());
    let changed = diesel::update(others).set(participants::stopped_at.eq(stop)).execute(connection)?;
    if changed > 0 {
        diesel::update(chats::table.find(&column))
            .set(chats::updated_at.eq(command.now.micros()))
            .execute(connection)?;
        chat = Chat { updated_at: command.now, ..chat };
        audit::append_on(connection, [AuditEntry::chat_stopped(command)])?;
        let made = if command.stopped { Change::AgentsStopped } else { Change::AgentsPlaying };
        change::append_on(connection, [made(command.chat)], command.now)?;
    }
    let paused = chats::table
        .inner_join(organizations::table.on(chats::organization_id.eq(organizations::id.nullable())))
        .filter(chats::id.eq(&column))
        .filter(organizations::paused_at.is_not_null());
    let is_paused = select(exists(paused)).get_result::<bool>(connection)?;
    let agents = present()
        .order(participants::participant_id)
        .select((
            participants::participant_id,
            participants::joined_at,
            participants::stopped_at.is_not_null().or(participants::agent_paused_at.is_not_null()),
        ))
        .load::<(Vec<u8>, i64, bool)>(connection)?;
    let execution = |(agent, joined_at, is_stopped): &(Vec<u8>, i64, bool)| {
        let (agent, chat) = (row::agent_id(agent)?, command.chat);
        let execution = ExecutionId::of(chat, agent, row::time(*joined_at));
        Ok(AgentInChat { agent, chat, execution, is_stopped: *is_stopped || is_paused })
    };
    let agents = agents.iter().map(execution).collect::<Result<_, Fault>>()?;
    let ShownChat { chat, details, users } = shown_on(connection, chat)?;
    Ok(Ok(StoppedChat { chat, details, users, agents, has_changed: changed > 0 }))
}
