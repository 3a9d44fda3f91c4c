//! Reading, creating, and renaming organizations.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::change::Change;
use domain::id::{OrganizationId, UserId};
use domain::organization::{
    CreateOrganizationRefused, NewOrganization, NotAdmin, OrganizationOf, OrganizationRole, PauseReason,
    QuotaUse, RenameOrganization, RenameOrganizationRefused, SetPaused,
};
use domain::plan::{Organization, OrganizationName, PlanName, WhichOrganization};
use domain::time::Timestamp;

use super::member::{check_on, count_on};
use crate::audit;
use crate::change;
use crate::chat::row::{LimitColumns, foreign_policy, max_hops, max_hops_column, max_pair_messages};
use crate::error::Fault;
use crate::plan::assign::{organization_named_on, plan_exists_on, which_on};
use crate::plan::list::organization_on;
use crate::plan::quota::{self, bytes_of};
use crate::plan::row::{PauseColumns, PlanRow, pause_of};
use crate::row;
use crate::schema::{organizations, plans, users};

pub(super) fn find_on(
    connection: &mut SqliteConnection,
    which: &WhichOrganization,
) -> Result<Option<Organization>, Fault> {
    which_on(connection, which)?.map_or(Ok(None), |id| organization_on(connection, &id))
}

/// Id, name, creation time, the user's role, the bytes, the pause, the limits, and the policy.
type OfColumns = (Vec<u8>, String, i64, String, i64, PauseColumns, LimitColumns);

pub(super) fn of_on(
    connection: &mut SqliteConnection,
    user: UserId,
) -> Result<Option<OrganizationOf>, Fault> {
    let found = users::table
        .inner_join(organizations::table.on(organizations::id.eq(users::organization_id)))
        .inner_join(plans::table.on(plans::name.eq(organizations::plan)))
        .filter(users::id.eq(row::bytes(user.uuid())))
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
        .get_result::<(OfColumns, PlanRow)>(connection)
        .optional()?;
    let Some(((id, name, created_at, role, bytes, pause, limits), plan)) = found else { return Ok(None) };
    let id = OrganizationId::new(row::uuid(&id)?);
    let role = row::word(&role, OrganizationRole::parse)?;
    let in_use = match role {
        OrganizationRole::Admin => {
            let (agents, chats) = quota::used_on(connection, id)?;
            Some(QuotaUse { agents, chats, bytes: bytes_of(bytes) })
        }
        OrganizationRole::Member => None,
    };
    Ok(Some(OrganizationOf {
        id,
        name,
        created_at: row::time(created_at),
        role,
        members: count_on(connection, id)?,
        plan: plan.into_plan(),
        used: in_use,
        pause: pause_of(pause),
        max_hops: limits.0.and_then(max_hops),
        max_pair_messages: limits.1.and_then(max_pair_messages),
        foreign: foreign_policy(limits.2.as_deref())?,
    }))
}

pub(super) fn create_on(
    connection: &mut SqliteConnection,
    new: &NewOrganization,
) -> Result<Result<Organization, CreateOrganizationRefused>, Fault> {
    if organization_named_on(connection, new.name.as_str())?.is_some() {
        return Ok(Err(CreateOrganizationRefused::NameTaken));
    }
    if !plan_exists_on(connection, &new.plan)? {
        return Ok(Err(CreateOrganizationRefused::NoSuchPlan));
    }
    insert_on(connection, new.id, new.name.as_str(), &new.plan, new.now)?;
    audit::append_on(connection, [AuditEntry::organization_created(new)])?;
    stored_on(connection, new.id).map(Ok)
}

/// Stores an organization. The caller has checked that its name is free and its plan exists.
pub(crate) fn insert_on(
    connection: &mut SqliteConnection,
    id: OrganizationId,
    name: &str,
    plan: &PlanName,
    now: Timestamp,
) -> Result<(), Fault> {
    diesel::insert_into(organizations::table)
        .values((
            organizations::id.eq(row::bytes(id.uuid())),
            organizations::name.eq(name),
            organizations::plan.eq(plan.as_str()),
            organizations::created_at.eq(now.micros()),
        ))
        .execute(connection)?;
    Ok(())
}

pub(super) fn rename_on(
    connection: &mut SqliteConnection,
    command: &RenameOrganization,
) -> Result<Result<Organization, RenameOrganizationRefused>, Fault> {
    if check_on(connection, command.by)? == Err(NotAdmin) {
        return Ok(Err(RenameOrganizationRefused::NotAdmin));
    }
    let id = command.by.organization();
    let name = command.changes.name.as_ref().map(OrganizationName::as_str);
    let of_name = name.map_or(Ok(None), |name| organization_named_on(connection, name))?;
    if of_name.is_some_and(|other| other != row::bytes(id.uuid())) {
        return Ok(Err(RenameOrganizationRefused::NameTaken));
    }
    // Before the change, since the entry keeps the old name.
    audit::append_on(connection, AuditEntry::organization_renamed(command))?;
    let organization = organizations::table.find(row::bytes(id.uuid()));
    if let Some(name) = name {
        diesel::update(organization.clone()).set(organizations::name.eq(name)).execute(connection)?;
    }
    if let Some(max) = command.changes.max_hops {
        let max_hops = organizations::max_hops.eq(max.map(max_hops_column));
        diesel::update(organization.clone()).set(max_hops).execute(connection)?;
    }
    if let Some(max) = command.changes.max_pair_messages {
        let max = organizations::max_pair_messages.eq(max.map(|max| max.get().cast_signed()));
        diesel::update(organization.clone()).set(max).execute(connection)?;
    }
    if let Some(policy) = command.changes.foreign {
        let policy = organizations::foreign_policy.eq(policy.as_str());
        diesel::update(organization).set(policy).execute(connection)?;
    }
    stored_on(connection, id).map(Ok)
}

pub(super) fn set_paused_on(
    connection: &mut SqliteConnection,
    command: &SetPaused,
) -> Result<Result<Organization, NotAdmin>, Fault> {
    if let Err(refused) = check_on(connection, command.by)? {
        return Ok(Err(refused));
    }
    let id = command.by.organization();
    let was_paused = stored_on(connection, id)?.pause.is_some();
    let since = command.reason.as_ref().map(|_| command.now.micros());
    let organization = organizations::table.find(row::bytes(id.uuid()));
    let reason = organizations::pause_reason.eq(command.reason.as_ref().map(PauseReason::as_str));
    if was_paused && since.is_some() {
        diesel::update(organization).set(reason).execute(connection)?;
    } else {
        diesel::update(organization).set((reason, organizations::paused_at.eq(since))).execute(connection)?;
    }
    if was_paused || since.is_some() {
        audit::append_on(connection, [AuditEntry::organization_paused(command)])?;
        // A repeated pause is signaled again, since a signal may have been lost.
        change::append_on(connection, [Change::PauseChanged(id)], command.now)?;
    }
    stored_on(connection, id).map(Ok)
}

fn stored_on(connection: &mut SqliteConnection, id: OrganizationId) -> Result<Organization, Fault> {
    let stored = organization_on(connection, &row::bytes(id.uuid()))?;
    stored.ok_or_else(|| Fault::Row("the organization disappeared within its own transaction".to_owned()))
}
