//! Changing agents and users.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::account::{
    Agent, MarkAgent, PersonNamePart, ProfileChanges, UpdateAgent, UpdateAgentRefused, UpdateUser, User,
};
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{AgentId, UserId};
use domain::time::Timestamp;

use super::row::{AgentRow, UserRow};
use crate::audit;
use crate::change;
use crate::error::Fault;
use crate::lock;
use crate::row::{self, At};
use crate::run::Db;
use crate::schema::{agents, users};

/// The agent or user does not exist.
pub(super) struct Unknown;

pub(super) async fn update_agent_on(
    mut db: &Db,
    command: &UpdateAgent,
) -> Result<Result<Agent, UpdateAgentRefused>, Fault> {
    if command.changes.name.is_some() {
        // Names are assigned to one agent of the owner after the other.
        lock::users_on(db, &[command.owner]).await?;
    }
    let Some(mut agent) = owned_on(db, command.agent, command.owner).await? else {
        return Ok(Err(UpdateAgentRefused::NotFound));
    };
    if let Some(name) = &command.changes.name {
        let same_name = agents::table
            .filter(agents::owner_id.eq(agent.owner_id))
            .filter(agents::name.eq(name.as_str()))
            .filter(agents::deleted_at.is_null())
            .filter(agents::id.ne(agent.id));
        if select(exists(same_name)).get_result(&mut db).await? {
            return Ok(Err(UpdateAgentRefused::NameTaken));
        }
    }
    agent.apply(&command.changes)?;
    let agent = save_on(db, agent, command.now).await?;
    audit::append_on(db, [AuditEntry::agent_updated(command)]).await?;
    change::append_on(db, [Change::AgentUpdated(agent.id)], command.now).await?;
    Ok(Ok(agent))
}

/// The agent, if `owner` owns it; locked.
pub(super) async fn owned_on(mut db: &Db, agent: AgentId, owner: UserId) -> Result<Option<AgentRow>, Fault> {
    let found = agents::table
        .find(agent.uuid())
        .filter(agents::owner_id.eq(owner.uuid()))
        .filter(agents::deleted_at.is_null())
        .select(AgentRow::as_select())
        .for_no_key_update()
        .first(&mut db)
        .await;
    Ok(found.optional()?)
}

pub(super) async fn mark_agent_on(mut db: &Db, command: &MarkAgent) -> Result<Result<Agent, Unknown>, Fault> {
    if !row::can_be_stored(&command.handle) {
        return Ok(Err(Unknown));
    }
    let found = agents::table
        .filter(agents::handle.eq(&command.handle))
        .filter(agents::deleted_at.is_null())
        .select(AgentRow::as_select())
        .for_no_key_update()
        .first(&mut db)
        .await
        .optional()?;
    let Some(mut agent) = found else { return Ok(Err(Unknown)) };
    agent.mark(command.marks);
    let agent = save_on(db, agent, command.now).await?;
    audit::append_on(db, [AuditEntry::agent_marked(command, &agent)]).await?;
    change::append_on(db, [Change::AgentUpdated(agent.id)], command.now).await?;
    Ok(Ok(agent))
}

async fn save_on(mut db: &Db, mut agent: AgentRow, now: Timestamp) -> Result<Agent, Fault> {
    agent.updated_at = At(now);
    diesel::update(agents::table.find(agent.id)).set(&agent).execute(&mut db).await?;
    agent.into_agent()
}

pub(super) async fn update_user_on(
    mut db: &Db,
    command: &UpdateUser,
) -> Result<Result<User, Unknown>, Fault> {
    let first = command.changes.first_name.clone().map(PersonNamePart::into_string);
    let last = command.changes.last_name.clone();
    let last = last.map(|last| last.map(PersonNamePart::into_string).unwrap_or_default());
    let changed = diesel::update(users::table.find(command.user.uuid()).filter(users::deleted_at.is_null()))
        .set((
            first.map(|first| users::first_name.eq(first)),
            last.map(|last| users::last_name.eq(last)),
            users::updated_at.eq(At(command.now)),
        ))
        .returning(UserRow::as_returning())
        .get_result(&mut db)
        .await
        .optional()?;
    let Some(changed) = changed else { return Ok(Err(Unknown)) };
    if command.changes != ProfileChanges::default() {
        change::append_on(db, [Change::UserUpdated(command.user)], command.now).await?;
    }
    changed.into_user().map(Ok)
}
