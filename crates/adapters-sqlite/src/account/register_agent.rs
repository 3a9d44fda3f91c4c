//! Storing an agent, and its key if it has one.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::{
    AgentHandle, KeyClaimRefused, MadeKey, NewAgent, NewRun, RegisterRefused, StoredAgent, UserHandle,
};
use domain::audit::AuditEntry;
use domain::id::{OrganizationId, ParticipantId, UserId};

use super::find::agent_on;
use super::keys;
use super::row::AgentRow;
use crate::audit;
use crate::error::Fault;
use crate::plan::quota;
use crate::row::{self, At, Id};
use crate::schema::{agents, users};

pub(super) fn register_agent_on(
    connection: &mut SqliteConnection,
    new: &NewAgent,
) -> Result<Result<StoredAgent, RegisterRefused>, Fault> {
    let owner = row::bytes(new.owner.uuid());
    let found = users::table
        .find(&owner)
        .filter(users::deleted_at.is_null())
        .select((users::handle, users::organization_id))
        .get_result::<(String, Vec<u8>)>(connection)
        .optional()?;
    let Some((owner_handle, organization)) = found else { return Ok(Err(RegisterRefused::OwnerGone)) };
    let organization = OrganizationId::new(row::uuid(&organization)?);
    if let NewRun::External(key) = &new.run {
        match keys::claim_on(connection, new.keyed.as_ref(), key, new.by, new.now)? {
            Ok(None) => {}
            Ok(Some(renewed)) => return registered_on(connection, new.owner, renewed),
            Err(refused) => return Ok(Err(RegisterRefused::Claim(refused))),
        }
    }
    let same_name = agents::table
        .filter(agents::owner_id.eq(&owner))
        .filter(agents::name.eq(new.name.as_str()))
        .filter(agents::deleted_at.is_null());
    if select(exists(same_name)).get_result(connection)? {
        return Ok(Err(RegisterRefused::NameTaken));
    }
    if let Err(reached) = quota::agents_on(connection, organization)? {
        return Ok(Err(RegisterRefused::Limit(reached)));
    }
    let owner_handle = UserHandle::from_stored(owner_handle);
    let handle = free_handle_on(connection, new, &owner_handle)?;
    let agent = AgentRow {
        id: Id(new.id.uuid()),
        owner_id: Id(new.owner.uuid()),
        name: new.name.as_str().to_owned(),
        handle: handle.as_str().to_owned(),
        description: new.description.as_ref().map_or_else(String::new, |text| text.as_str().to_owned()),
        kind: new.run.kind().as_str().to_owned(),
        model_type: new.model_type.as_ref().map(|model| model.as_str().to_owned()),
        bio: None,
        tags: "[]".to_owned(),
        listed_in_directory: false,
        registry_access: true,
        shared_with_organization: false,
        foreign_access: false,
        exclusive_claims: false,
        a2a: false,
        is_global: false,
        max_attempts: None,
        created_at: At(new.now),
        updated_at: At(new.now),
        disabled_at: None,
        paused_at: None,
        pause_reason: None,
    };
    diesel::insert_into(agents::table).values(&agent).execute(connection)?;
    if let NewRun::External(key) = &new.run {
        keys::insert_on(connection, key, ParticipantId::Agent(new.id), new.now)?;
    }
    audit::append_on(connection, [AuditEntry::agent_registered(new, organization)])?;
    Ok(Ok(StoredAgent { agent: agent.into_agent()?, renewed: None }))
}

/// The agent that the first request registered, unless it has a new owner.
fn registered_on(
    connection: &mut SqliteConnection,
    owner: UserId,
    renewed: MadeKey,
) -> Result<Result<StoredAgent, RegisterRefused>, Fault> {
    let spent = RegisterRefused::Claim(KeyClaimRefused::KeySpent);
    let Some(agent) = renewed.record.holder.agent() else { return Ok(Err(spent)) };
    let Some(agent) = agent_on(connection, agent)?.filter(|agent| agent.owner == owner) else {
        return Ok(Err(spent));
    };
    Ok(Ok(StoredAgent { agent, renewed: Some(renewed) }))
}

/// The first handle made from the slug that none of the owner's agents has or had.
fn free_handle_on(
    connection: &mut SqliteConnection,
    new: &NewAgent,
    owner: &UserHandle,
) -> Result<AgentHandle, Fault> {
    let slug = new.slug.find_free(|slug| {
        let handle = AgentHandle::new(owner, slug);
        let taken = select(exists(agents::table.filter(agents::handle.eq(handle.as_str()))));
        taken.get_result::<bool>(connection)
    })?;
    Ok(AgentHandle::new(owner, &slug))
}
