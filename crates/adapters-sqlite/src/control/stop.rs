//! Storing a stop of a chat's agents, and its end.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::chat::{Chat, RenamedChat, StopRefused};
use domain::control::{SetStopped, StoppedChat};
use domain::id::{ExecutionId, ParticipantId};

use crate::chat::load::{chat_on, standing_on};
use crate::chat::rename::renamed_on;
use crate::error::Fault;
use crate::schema::{chats, participants};
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
    let changed = if command.stopped {
        diesel::update(present().filter(participants::stopped_at.is_null()))
            .set(participants::stopped_at.eq(command.now.micros()))
            .execute(connection)?
    } else {
        diesel::update(present().filter(participants::stopped_at.is_not_null()))
            .set(participants::stopped_at.eq(None::<i64>))
            .execute(connection)?
    };
    if changed > 0 {
        diesel::update(chats::table.find(&column))
            .set(chats::updated_at.eq(command.now.micros()))
            .execute(connection)?;
        chat = Chat { updated_at: command.now, ..chat };
        audit::append_on(connection, [AuditEntry::chat_stopped(command)])?;
        let made = if command.stopped { Change::AgentsStopped } else { Change::AgentsPlaying };
        change::append_on(connection, [made(command.chat)], command.now)?;
    }
    let agents = present()
        .order(participants::participant_id)
        .select((participants::participant_id, participants::joined_at))
        .load::<(Vec<u8>, i64)>(connection)?;
    let execution = |(agent, joined_at): &(Vec<u8>, i64)| {
        let agent = row::agent_id(agent)?;
        Ok((agent, ExecutionId::of(command.chat, agent, row::time(*joined_at))))
    };
    let agents = agents.iter().map(execution).collect::<Result<_, Fault>>()?;
    let RenamedChat { chat, details, users } = renamed_on(connection, chat)?;
    Ok(Ok(StoppedChat { chat, details, users, agents, has_changed: changed > 0 }))
}
