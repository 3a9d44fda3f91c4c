//! Storing a stop of a chat's agents, and its end.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::chat::{Chat, ShownChat, StopRefused};
use domain::control::{AgentInChat, SetStopped, StoppedChat};
use domain::id::{AgentId, ChatId, ExecutionId, ParticipantId};
use uuid::Uuid;

use crate::chat::load::{locked_chat_on, standing_on};
use crate::chat::rename::shown_on;
use crate::chat::touch_on;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::{chats, organizations, participants};
use crate::{audit, change};

pub(super) async fn set_stopped_on(
    db: &Db,
    command: &SetStopped,
) -> Result<Result<StoppedChat, StopRefused>, Fault> {
    let Some(mut chat) = locked_chat_on(db, command.chat).await? else {
        return Ok(Err(StopRefused::ChatNotFound));
    };
    let standing = standing_on(db, ParticipantId::User(command.by.user), chat.id).await?;
    if let Err(refused) = standing.decide_stop() {
        return Ok(Err(refused));
    }
    let changed = update_on(db, command).await?;
    if changed > 0 {
        // The version of the row shows those who remember the members of the chat that one has changed.
        touch_on(db, chat.id, command.now).await?;
        chat = Chat { updated_at: command.now, ..chat };
    }
    let agents = agents_on(db, chat.id).await?;
    let ShownChat { chat, details, users } = shown_on(db, chat).await?;
    if changed > 0 {
        audit::append_on(db, [AuditEntry::chat_stopped(command)]).await?;
        let made = if command.stopped { Change::AgentsStopped } else { Change::AgentsPlaying };
        change::append_on(db, [made(chat.id)], command.now).await?;
    }
    Ok(Ok(StoppedChat { chat, details, users, agents, has_changed: changed > 0 }))
}

/// Returns the number of agents that were in the other state.
async fn update_on(mut db: &Db, command: &SetStopped) -> Result<usize, Fault> {
    let others = participants::table
        .filter(participants::chat_id.eq(command.chat.uuid()))
        .filter(participants::kind.eq("Agent"))
        .filter(participants::left_at.is_null())
        .filter(participants::stopped_at.is_null().eq(command.stopped));
    let stop = command.stopped.then_some(At(command.now));
    Ok(diesel::update(others).set(participants::stopped_at.eq(stop)).execute(&mut db).await?)
}

/// The agents in the chat, by id.
async fn agents_on(mut db: &Db, chat: ChatId) -> Result<Vec<AgentInChat>, Fault> {
    let paused = chats::table
        .inner_join(organizations::table.on(chats::organization_id.eq(organizations::id.nullable())))
        .filter(chats::id.eq(chat.uuid()))
        .filter(organizations::paused_at.is_not_null());
    let is_paused = select(exists(paused)).get_result::<bool>(&mut db).await?;
    let agents = participants::table
        .filter(participants::chat_id.eq(chat.uuid()))
        .filter(participants::kind.eq("Agent"))
        .filter(participants::left_at.is_null())
        .order(participants::participant_id)
        .select((
            participants::participant_id,
            participants::joined_at,
            participants::stopped_at.is_not_null().or(participants::agent_paused_at.is_not_null()),
        ))
        .load::<(Uuid, At, bool)>(&mut db)
        .await?;
    let execution = |(agent, At(joined_at), is_stopped): (Uuid, At, bool)| {
        let agent = AgentId::new(agent);
        let execution = ExecutionId::of(chat, agent, joined_at);
        AgentInChat { agent, chat, execution, is_stopped: is_stopped || is_paused }
    };
    Ok(agents.into_iter().map(execution).collect())
}
