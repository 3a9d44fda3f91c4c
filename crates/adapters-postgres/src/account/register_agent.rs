//! Storing an agent, and its key if it has one.

use std::collections::HashMap;

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::account::{
    Agent, AgentHandle, KeyClaimRefused, MadeKey, NewAgent, NewRun, RegisterRefused, StoredAgent, UserHandle,
};
use domain::audit::AuditEntry;
use domain::id::{OrganizationId, ParticipantId, UserId};
use uuid::Uuid;

use super::keys;
use super::row::AgentRow;
use super::update::owned_on;
use crate::audit;
use crate::error::Fault;
use crate::lock;
use crate::plan::quota;
use crate::row::{At, Id};
use crate::run::Db;
use crate::schema::{agents, users};

pub(super) async fn register_agent_on(
    mut db: &Db,
    new: &NewAgent,
) -> Result<Result<StoredAgent, RegisterRefused>, Fault> {
    let Some((owner_handle, organization)) = locked_owner_on(db, new.owner).await? else {
        return Ok(Err(RegisterRefused::OwnerGone));
    };
    // Names and handles are assigned to one agent of the owner after the other.
    lock::users_on(db, &[new.owner]).await?;
    if handle_and_organization_on(db, new.owner).await?.is_none() {
        return Ok(Err(RegisterRefused::OwnerGone));
    }
    if let NewRun::External(key) = &new.run {
        match keys::claim_on(db, new.keyed.as_ref(), key, new.by, new.now).await? {
            Ok(None) => {}
            Ok(Some(renewed)) => return registered_on(db, new.owner, renewed).await,
            Err(refused) => return Ok(Err(RegisterRefused::Claim(refused))),
        }
    }
    let same_name = agents::table
        .filter(agents::owner_id.eq(new.owner.uuid()))
        .filter(agents::name.eq(new.name.as_str()))
        .filter(agents::deleted_at.is_null());
    if select(exists(same_name)).get_result(&mut db).await? {
        return Ok(Err(RegisterRefused::NameTaken));
    }
    if let Err(reached) = quota::agents_on(db, organization).await? {
        return Ok(Err(RegisterRefused::Limit(reached)));
    }
    let handle = free_handle_on(db, new, &UserHandle::from_stored(owner_handle)).await?;
    let agent = insert_on(db, new, &handle).await?;
    audit::append_on(db, [AuditEntry::agent_registered(new, organization)]).await?;
    Ok(Ok(StoredAgent { agent, renewed: None }))
}

/// The agent that the first request registered, unless it has a new owner.
async fn registered_on(
    db: &Db,
    owner: UserId,
    renewed: MadeKey,
) -> Result<Result<StoredAgent, RegisterRefused>, Fault> {
    let spent = RegisterRefused::Claim(KeyClaimRefused::KeySpent);
    let Some(agent) = renewed.record.holder.agent() else { return Ok(Err(spent)) };
    let Some(agent) = owned_on(db, agent, owner).await? else { return Ok(Err(spent)) };
    Ok(Ok(StoredAgent { agent: agent.into_agent()?, renewed: Some(renewed) }))
}

/// The owner's handle, which never changes, and the owner's organization, which is locked.
async fn locked_owner_on(db: &Db, owner: UserId) -> Result<Option<(String, OrganizationId)>, Fault> {
    let Some(mut owned_by) = handle_and_organization_on(db, owner).await? else { return Ok(None) };
    loop {
        quota::hold_for_agents_on(db, owned_by.1).await?;
        let Some(now) = handle_and_organization_on(db, owner).await? else { return Ok(None) };
        if now.1 == owned_by.1 {
            return Ok(Some(now));
        }
        // The owner moved before the lock was taken.
        owned_by = now;
    }
}

async fn handle_and_organization_on(
    mut db: &Db,
    owner: UserId,
) -> Result<Option<(String, OrganizationId)>, Fault> {
    let owned_by = users::table.find(owner.uuid()).filter(users::deleted_at.is_null());
    let owned_by = owned_by.select((users::handle, users::organization_id));
    let found = owned_by.first::<(String, Uuid)>(&mut db).await.optional()?;
    Ok(found.map(|(handle, organization)| (handle, OrganizationId::new(organization))))
}

async fn insert_on(mut db: &Db, new: &NewAgent, handle: &AgentHandle) -> Result<Agent, Fault> {
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
    diesel::insert_into(agents::table).values(&agent).execute(&mut db).await?;
    if let NewRun::External(key) = &new.run {
        keys::insert_on(db, key, ParticipantId::Agent(new.id), new.now).await?;
    }
    agent.into_agent()
}

/// The first handle made from the slug that none of the owner's agents has or had.
async fn free_handle_on(mut db: &Db, new: &NewAgent, owner: &UserHandle) -> Result<AgentHandle, Fault> {
    // The search is synchronous, so it restarts with each handle that it had to look up; they are
    // few.
    let mut taken = HashMap::new();
    loop {
        let lacking = match new.slug.find_free(|slug| taken.get(slug).copied().ok_or_else(|| slug.clone())) {
            Ok(free) => return Ok(AgentHandle::new(owner, &free)),
            Err(lacking) => lacking,
        };
        let handle = AgentHandle::new(owner, &lacking);
        let same_handle = agents::table.filter(agents::handle.eq(handle.as_str()));
        let answer = select(exists(same_handle)).get_result::<bool>(&mut db).await?;
        taken.insert(lacking, answer);
    }
}
