//! Changing agents and users.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::{
    Agent, AgentChanges, AgentTag, MarkAgent, ProfileChanges, UpdateAgent, UpdateAgentRefused, UpdateUser,
    User,
};
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
    apply(&mut agent, &command.changes)?;
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

fn apply(agent: &mut AgentRow, changes: &AgentChanges) -> Result<(), Fault> {
    if let Some(name) = &changes.name {
        name.as_str().clone_into(&mut agent.name);
    }
    if let Some(description) = &changes.description {
        description.as_str().clone_into(&mut agent.description);
    }
    if let Some(model_type) = &changes.model_type {
        agent.model_type = model_type.as_ref().map(|model| model.as_str().to_owned());
    }
    if let Some(bio) = &changes.bio {
        agent.bio = bio.as_ref().map(|bio| bio.as_str().to_owned());
    }
    if let Some(tags) = &changes.tags {
        agent.tags = row::to_json(&tags.iter().map(AgentTag::as_str).collect::<Vec<_>>())?;
    }
    let flags = [
        (&mut agent.listed_in_directory, changes.listed_in_directory),
        (&mut agent.registry_access, changes.registry_access),
        (&mut agent.shared_with_organization, changes.shared_with_organization),
    ];
    set(flags);
    Ok(())
}

fn set<const N: usize>(flags: [(&mut bool, Option<bool>); N]) {
    for (flag, wanted) in flags {
        *flag = wanted.unwrap_or(*flag);
    }
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
    set([
        (&mut agent.is_global, command.marks.is_global),
        (&mut agent.shared_with_organization, command.marks.shared_with_organization),
        (&mut agent.listed_in_directory, command.marks.listed_in_directory),
    ]);
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
