//! Storing a stop of a chat's agents, and its end.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::chat::{Chat, RenamedChat, StopRefused};
use domain::control::{SetStopped, StoppedChat};
use domain::id::{AgentId, ChatId, ExecutionId, ParticipantId};
use uuid::Uuid;

use crate::chat::load::{locked_chat_on, standing_on};
use crate::chat::rename::renamed_on;
use crate::chat::touch_on;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::participants;
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
    let RenamedChat { chat, details, users } = renamed_on(db, chat).await?;
    if changed > 0 {
        audit::append_on(db, [AuditEntry::chat_stopped(command)]).await?;
        let made = if command.stopped { Change::AgentsStopped } else { Change::AgentsPlaying };
        change::append_on(db, [made(chat.id)], command.now).await?;
    }
    Ok(Ok(StoppedChat { chat, details, users, agents, has_changed: changed > 0 }))
}

/// Returns the number of agents that were in the other state.
async fn update_on(mut db: &Db, command: &SetStopped) -> Result<usize, Fault> {
    let present = participants::table
        .filter(participants::chat_id.eq(command.chat.uuid()))
        .filter(participants::kind.eq("Agent"))
        .filter(participants::left_at.is_null());
    let changed = if command.stopped {
        diesel::update(present.filter(participants::stopped_at.is_null()))
            .set(participants::stopped_at.eq(At(command.now)))
            .execute(&mut db)
            .await?
    } else {
        diesel::update(present.filter(participants::stopped_at.is_not_null()))
            .set(participants::stopped_at.eq(None::<At>))
            .execute(&mut db)
            .await?
    };
    Ok(changed)
}

/// The agents in the chat with their executions, by id.
async fn agents_on(mut db: &Db, chat: ChatId) -> Result<Vec<(AgentId, ExecutionId)>, Fault> {
    let agents = participants::table
        .filter(participants::chat_id.eq(chat.uuid()))
        .filter(participants::kind.eq("Agent"))
        .filter(participants::left_at.is_null())
        .order(participants::participant_id)
        .select((participants::participant_id, participants::joined_at))
        .load::<(Uuid, At)>(&mut db)
        .await?;
    let execution = |(agent, At(joined_at)): (Uuid, At)| {
        let agent = AgentId::new(agent);
        (agent, ExecutionId::of(chat, agent, joined_at))
    };
    Ok(agents.into_iter().map(execution).collect())
}
