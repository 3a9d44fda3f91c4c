//! Reading, creating, and renaming organizations.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{OrganizationId, UserId};
use domain::organization::{
    CreateOrganizationRefused, NewOrganization, NotAdmin, OrganizationOf, OrganizationRole, PauseReason,
    QuotaUse, RenameOrganization, RenameOrganizationRefused, SetPaused,
};
use domain::plan::{Organization, OrganizationName, PlanName, WhichOrganization};
use domain::time::Timestamp;
use uuid::Uuid;

use super::member::{check_on, count_on};
use crate::audit;
use crate::change;
use crate::chat::row::{LimitColumns, foreign_policy, max_hops, max_hops_column, max_pair_messages};
use crate::error::Fault;
use crate::lock;
use crate::plan::assign::{organization_named_on, plan_exists_on, which_on};
use crate::plan::list::organization_on;
use crate::plan::quota::{self, bytes_of};
use crate::plan::row::{PauseColumns, PlanRow, pause_of};
use crate::row::{self, At};
use crate::run::Db;
use crate::schema::{organizations, plans, users};

pub(super) async fn find_on(db: &Db, which: &WhichOrganization) -> Result<Option<Organization>, Fault> {
    match which_on(db, which).await? {
        Some(id) => organization_on(db, id).await,
        None => Ok(None),
    }
}

/// Id, name, creation time, the user's role, the bytes, the pause, the limits, and the policy.
type OfColumns = (Uuid, String, At, String, i64, PauseColumns, LimitColumns);

pub(super) async fn of_on(mut db: &Db, user: UserId) -> Result<Option<OrganizationOf>, Fault> {
    let found = users::table
        .inner_join(organizations::table.on(organizations::id.eq(users::organization_id)))
        .inner_join(plans::table.on(plans::name.eq(organizations::plan)))
        .filter(users::id.eq(user.uuid()))
        .select((
            (
                organizations::id,
                organizations::name,
                organizations::created_at,
                users::organization_role,
                organizations::content_bytes,
                (organizations::paused_at, organizations::pause_reason),
                (organizations::max_hops, organizations::max_pair_messages, organizations::foreign_policy),
            ),
            PlanRow::as_select(),
        ))
        .first::<(OfColumns, PlanRow)>(&mut db)
        .await
        .optional()?;
    let Some(((id, name, created_at, role, bytes, pause, limits), plan)) = found else { return Ok(None) };
    let id = OrganizationId::new(id);
    let role = row::word(&role, OrganizationRole::parse)?;
    let in_use = match role {
        OrganizationRole::Admin => {
            let (agents, chats) = quota::used_on(db, vec![id]).await?.remove(&id).unwrap_or_default();
            Some(QuotaUse { agents, chats, bytes: bytes_of(bytes) })
        }
        OrganizationRole::Member => None,
    };
    Ok(Some(OrganizationOf {
        id,
        name,
        created_at: created_at.0,
        role,
        members: count_on(db, id).await?,
        plan: plan.into_plan(),
        used: in_use,
        pause: pause_of(pause),
        max_hops: limits.0.and_then(max_hops),
        max_pair_messages: limits.1.and_then(max_pair_messages),
        foreign: foreign_policy(limits.2.as_deref())?,
    }))
}

pub(super) async fn create_on(
    db: &Db,
    new: &NewOrganization,
) -> Result<Result<Organization, CreateOrganizationRefused>, Fault> {
    lock::names_on(db).await?;
    if organization_named_on(db, new.name.as_str()).await?.is_some() {
        return Ok(Err(CreateOrganizationRefused::NameTaken));
    }
    if !plan_exists_on(db, &new.plan).await? {
        return Ok(Err(CreateOrganizationRefused::NoSuchPlan));
    }
    insert_on(db, new.id, new.name.as_str(), &new.plan, new.now).await?;
    audit::append_on(db, [AuditEntry::organization_created(new)]).await?;
    stored_on(db, new.id).await.map(Ok)
}

/// Stores an organization. The caller has checked that its name is free and its plan exists, and
/// holds the lock on names.
pub(crate) async fn insert_on(
    mut db: &Db,
    id: OrganizationId,
    name: &str,
    plan: &PlanName,
    now: Timestamp,
) -> Result<(), Fault> {
    diesel::insert_into(organizations::table)
        .values((
            organizations::id.eq(id.uuid()),
            organizations::name.eq(name),
            organizations::plan.eq(plan.as_str()),
            organizations::created_at.eq(At(now)),
        ))
        .execute(&mut db)
        .await?;
    Ok(())
}

pub(super) async fn rename_on(
    mut db: &Db,
    command: &RenameOrganization,
) -> Result<Result<Organization, RenameOrganizationRefused>, Fault> {
    let id = command.by.organization();
    lock::names_on(db).await?;
    lock::people_on(db, id).await?;
    if check_on(db, command.by).await? == Err(NotAdmin) {
        return Ok(Err(RenameOrganizationRefused::NotAdmin));
    }
    let name = command.changes.name.as_ref().map(OrganizationName::as_str);
    let of_name = match name {
        Some(name) => organization_named_on(db, name).await?,
        None => None,
    };
    if of_name.is_some_and(|other| other != id.uuid()) {
        return Ok(Err(RenameOrganizationRefused::NameTaken));
    }
    // Before the change, since the entry keeps the old name.
    audit::append_on(db, AuditEntry::organization_renamed(command)).await?;
    let organization = organizations::table.find(id.uuid());
    if let Some(name) = name {
        diesel::update(organization).set(organizations::name.eq(name)).execute(&mut db).await?;
    }
    if let Some(max) = command.changes.max_hops {
        let max_hops = organizations::max_hops.eq(max.map(max_hops_column));
        diesel::update(organization).set(max_hops).execute(&mut db).await?;
    }
    if let Some(max) = command.changes.max_pair_messages {
        let max = organizations::max_pair_messages.eq(max.map(|max| max.get().cast_signed()));
        diesel::update(organization).set(max).execute(&mut db).await?;
    }
    if let Some(policy) = command.changes.foreign {
        let policy = organizations::foreign_policy.eq(policy.as_str());
        diesel::update(organization).set(policy).execute(&mut db).await?;
    }
    stored_on(db, id).await.map(Ok)
}

pub(super) async fn set_paused_on(
    mut db: &Db,
    command: &SetPaused,
) -> Result<Result<Organization, NotAdmin>, Fault> {
    let id = command.by.organization();
    lock::people_on(db, id).await?;
    if let Err(refused) = check_on(db, command.by).await? {
        return Ok(Err(refused));
    }
    let was_paused = stored_on(db, id).await?.pause.is_some();
    let since = command.reason.as_ref().map(|_| At(command.now));
    let (organization, is_paused) = (organizations::table.find(id.uuid()), since.is_some());
    let reason = organizations::pause_reason.eq(command.reason.as_ref().map(PauseReason::as_str));
    if was_paused && is_paused {
        diesel::update(organization).set(reason).execute(&mut db).await?;
    } else {
        diesel::update(organization)
            .set((reason, organizations::paused_at.eq(since)))
            .execute(&mut db)
            .await?;
    }
    if was_paused || is_paused {
        audit::append_on(db, [AuditEntry::organization_paused(command)]).await?;
        // A repeated pause is signaled again, since a signal may have been lost.
        change::append_on(db, [Change::PauseChanged(id)], command.now).await?;
    }
    stored_on(db, id).await.map(Ok)
}

async fn stored_on(db: &Db, id: OrganizationId) -> Result<Organization, Fault> {
    let stored = organization_on(db, id.uuid()).await?;
    stored.ok_or_else(|| Fault::Row("the organization disappeared within its own transaction".to_owned()))
}
