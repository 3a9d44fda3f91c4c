//! Changing agents and users.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::{Agent, MarkAgent, ProfileChanges, UpdateAgent, UpdateAgentRefused, UpdateUser, User};
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::time::Timestamp;

use super::find::user_on;
use super::row::AgentRow;
use crate::audit;
use crate::change;
use crate::error::Fault;
use crate::row::{self, At};
use crate::schema::{agents, users};

pub(super) fn update_agent_on(
    connection: &mut SqliteConnection,
    command: &UpdateAgent,
) -> Result<Result<Agent, UpdateAgentRefused>, Fault> {
    let Some(mut agent) = owned_on(connection, command)? else {
        return Ok(Err(UpdateAgentRefused::NotFound));
    };
    if let Some(name) = &command.changes.name {
        let same_name = agents::table
            .filter(agents::owner_id.eq(agent.owner_id))
            .filter(agents::name.eq(name.as_str()))
            .filter(agents::deleted_at.is_null())
            .filter(agents::id.ne(agent.id));
        if select(exists(same_name)).get_result(connection)? {
            return Ok(Err(UpdateAgentRefused::NameTaken));
        }
    }
    agent.apply(&command.changes)?;
    let agent = save_on(connection, agent, command.now)?;
    audit::append_on(connection, [AuditEntry::agent_updated(command)])?;
    Ok(Ok(agent))
}

fn owned_on(connection: &mut SqliteConnection, command: &UpdateAgent) -> Result<Option<AgentRow>, Fault> {
    let found = agents::table
        .find(row::bytes(command.agent.uuid()))
        .filter(agents::owner_id.eq(row::bytes(command.owner.uuid())))
        .filter(agents::deleted_at.is_null())
        .select(AgentRow::as_select())
        .get_result(connection);
    Ok(found.optional()?)
}

pub(super) fn mark_agent_on(
    connection: &mut SqliteConnection,
    command: &MarkAgent,
) -> Result<Option<Agent>, Fault> {
    let found = agents::table
        .filter(agents::handle.eq(&command.handle))
        .filter(agents::deleted_at.is_null())
        .select(AgentRow::as_select())
        .get_result(connection)
        .optional()?;
    let Some(mut agent) = found else { return Ok(None) };
    agent.mark(command.marks);
    let agent = save_on(connection, agent, command.now)?;
    audit::append_on(connection, [AuditEntry::agent_marked(command, &agent)])?;
    Ok(Some(agent))
}

fn save_on(connection: &mut SqliteConnection, mut agent: AgentRow, now: Timestamp) -> Result<Agent, Fault> {
    agent.updated_at = At(now);
    diesel::update(agents::table.find(agent.id)).set(&agent).execute(connection)?;
    let agent = agent.into_agent()?;
    change::append_on(connection, [Change::AgentUpdated(agent.id)], now)?;
    Ok(agent)
}

pub(super) fn update_user_on(
    connection: &mut SqliteConnection,
    command: &UpdateUser,
) -> Result<Option<User>, Fault> {
    let Some(mut user) = user_on(connection, command.user)? else { return Ok(None) };
    if let Some(first) = command.changes.first_name.clone() {
        user.name.first = first.into_string();
    }
    if let Some(last) = command.changes.last_name.clone() {
        user.name.last = last.map(domain::account::PersonNamePart::into_string).unwrap_or_default();
    }
    user.updated_at = command.now;
    diesel::update(users::table.find(row::bytes(user.id.uuid())))
        .set((
            users::first_name.eq(&user.name.first),
            users::last_name.eq(&user.name.last),
            users::updated_at.eq(command.now.micros()),
        ))
        .execute(connection)?;
    if command.changes != ProfileChanges::default() {
        change::append_on(connection, [Change::UserUpdated(user.id)], command.now)?;
    }
    Ok(Some(user))
}
