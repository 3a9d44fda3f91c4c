//! Storing a pause of an agent, and its end.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::Agent;
use domain::audit::{Actor, AuditEntry};
use domain::change::Change;
use domain::control::{SetAgentPaused, SetAgentPausedRefused, may_pause};
use domain::id::{ParticipantId, UserId};

use crate::account::find::{agent_on, user_on};
use crate::error::Fault;
use crate::schema::{agents, participants};
use crate::{audit, change, row};

pub(super) fn set_paused_on(
    connection: &mut SqliteConnection,
    command: &SetAgentPaused,
) -> Result<Result<Agent, SetAgentPausedRefused>, Fault> {
    let Some(mut agent) = agent_on(connection, command.agent)? else { return Ok(Err(SetAgentPausedRefused)) };
    let mut membership = |user: UserId| {
        let found = user_on(connection, user)?;
        Ok::<_, Fault>(found.map(|user| (user.organization, user.organization_role)))
    };
    let by = match command.by {
        Actor::Participant(ParticipantId::User(user)) => membership(user)?,
        _ => None,
    };
    let organization = membership(agent.owner)?.map(|(organization, _)| organization);
    if !may_pause(command.by, agent.owner, by, organization) {
        return Ok(Err(SetAgentPausedRefused));
    }
    let paused_at = |agent: &Agent| agent.pause.as_ref().map(|pause| pause.since.micros());
    let before = paused_at(&agent);
    if !command.apply(&mut agent) {
        return Ok(Ok(agent));
    }
    let (since, id) = (paused_at(&agent), row::bytes(agent.id.uuid()));
    diesel::update(agents::table.find(&id))
        .set((
            agents::paused_at.eq(since),
            agents::pause_reason.eq(agent.pause.as_ref().map(|pause| &pause.reason)),
            agents::updated_at.eq(agent.updated_at.micros()),
        ))
        .execute(connection)?;
    if since != before {
        let memberships = participants::table
            .filter(participants::participant_id.eq(&id))
            .filter(participants::left_at.is_null());
        diesel::update(memberships).set(participants::agent_paused_at.eq(since)).execute(connection)?;
    }
    audit::append_on(connection, [AuditEntry::agent_paused(command, agent.owner)])?;
    // A repeated pause is signaled again, since a signal may have been lost.
    change::append_on(connection, [Change::AgentPauseChanged(agent.id)], command.now)?;
    Ok(Ok(agent))
}
