//! Storing a pause of an agent, and its end.

use diesel::prelude::*;
use diesel::sql_types::Uuid as SqlUuid;
use diesel_async::RunQueryDsl;
use domain::account::Agent;
use domain::audit::{Actor, AuditEntry};
use domain::change::Change;
use domain::control::{OrganizationMembership, SetAgentPaused, SetAgentPausedRefused, may_pause};
use domain::id::{AgentId, OrganizationId, ParticipantId, UserId};
use domain::organization::OrganizationRole;
use uuid::Uuid;

use crate::account::row::AgentRow;
use crate::error::Fault;
use crate::lock;
use crate::row::{self, At};
use crate::run::Db;
use crate::schema::{agents, participants, users};
use crate::statement::statement;
use crate::{audit, change};

/// Gives the rows of the chats a new version, so that caches of their members are refreshed; `updated_at` keeps its value. The
/// chats must be locked.
const TOUCH_CHATS: &str = "UPDATE chats SET updated_at = updated_at WHERE id IN (\
     SELECT chat_id FROM participants WHERE participant_id = ? AND left_at IS NULL)";

pub(super) async fn set_paused_on(
    mut db: &Db,
    command: &SetAgentPaused,
) -> Result<Result<Agent, SetAgentPausedRefused>, Fault> {
    // From here on the agent cannot be added to a chat.
    let Some(agent) = locked_on(db, command.agent).await? else { return Ok(Err(SetAgentPausedRefused)) };
    let mut agent = agent.into_agent()?;
    let owner = agent.owner;
    let by = match command.by {
        Actor::Participant(ParticipantId::User(user)) => membership_on(db, user).await?,
        _ => None,
    };
    let organization = membership_on(db, owner).await?.map(|(organization, _)| organization);
    if !may_pause(command.by, owner, by, organization) {
        return Ok(Err(SetAgentPausedRefused));
    }
    let paused_at = |agent: &Agent| agent.pause.as_ref().map(|pause| At(pause.since));
    let before = paused_at(&agent);
    if !command.apply(&mut agent) {
        return Ok(Ok(agent));
    }
    let since = paused_at(&agent);
    diesel::update(agents::table.find(agent.id.uuid()))
        .set((
            agents::paused_at.eq(since),
            agents::pause_reason.eq(agent.pause.as_ref().map(|pause| &pause.reason)),
            agents::updated_at.eq(At(agent.updated_at)),
        ))
        .execute(&mut db)
        .await?;
    if since != before {
        mark_memberships_on(db, agent.id, since).await?;
    }
    audit::append_on(db, [AuditEntry::agent_paused(command, owner)]).await?;
    // A repeated pause is signaled again, since a signal may have been lost.
    change::append_on(db, [Change::AgentPauseChanged(agent.id)], command.now).await?;
    Ok(Ok(agent))
}

/// Stores the beginning of the pause with each membership of the agent, which is locked.
async fn mark_memberships_on(mut db: &Db, agent: AgentId, paused_at: Option<At>) -> Result<(), Fault> {
    lock::chats_of_on(db, ParticipantId::Agent(agent)).await?;
    let memberships = participants::table
        .filter(participants::participant_id.eq(agent.uuid()))
        .filter(participants::left_at.is_null());
    diesel::update(memberships).set(participants::agent_paused_at.eq(paused_at)).execute(&mut db).await?;
    statement::<()>(TOUCH_CHATS).bind::<SqlUuid, _>(agent.uuid()).execute(&mut db).await?;
    Ok(())
}

async fn locked_on(mut db: &Db, agent: AgentId) -> Result<Option<AgentRow>, Fault> {
    let found = agents::table
        .find(agent.uuid())
        .filter(agents::deleted_at.is_null())
        .select(AgentRow::as_select())
        .for_no_key_update()
        .first(&mut db)
        .await;
    Ok(found.optional()?)
}

/// A user's organization, and the role in it.
async fn membership_on(mut db: &Db, user: UserId) -> Result<Option<OrganizationMembership>, Fault> {
    let found = users::table
        .find(user.uuid())
        .filter(users::deleted_at.is_null())
        .select((users::organization_id, users::organization_role))
        .first::<(Uuid, String)>(&mut db)
        .await
        .optional()?;
    let membership = |(organization, role): (Uuid, String)| {
        Ok((OrganizationId::new(organization), row::word(&role, OrganizationRole::parse)?))
    };
    found.map(membership).transpose()
}
