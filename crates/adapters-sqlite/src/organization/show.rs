//! Reading, creating, and renaming organizations.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::id::{OrganizationId, UserId};
use domain::organization::{
    CreateOrganizationRefused, NewOrganization, NotAdmin, OrganizationOf, OrganizationRole,
    RenameOrganization, RenameOrganizationRefused,
};
use domain::plan::{Organization, OrganizationName, PlanName, WhichOrganization};
use domain::time::Timestamp;

use super::member::{check_on, count_on};
use crate::audit;
use crate::error::Fault;
use crate::plan::assign::{organization_named_on, plan_exists_on, which_on};
use crate::plan::list::organization_on;
use crate::plan::row::PlanRow;
use crate::row;
use crate::schema::{organizations, plans, users};

pub(super) fn find_on(
    connection: &mut SqliteConnection,
    which: &WhichOrganization,
) -> Result<Option<Organization>, Fault> {
    which_on(connection, which)?.map_or(Ok(None), |id| organization_on(connection, &id))
}

/// Id, name, creation time, and the user's role.
type OfColumns = (Vec<u8>, String, i64, String);

pub(super) fn of_on(
    connection: &mut SqliteConnection,
    user: UserId,
) -> Result<Option<OrganizationOf>, Fault> {
    let found = users::table
        .inner_join(organizations::table.on(organizations::id.eq(users::organization_id)))
        .inner_join(plans::table.on(plans::name.eq(organizations::plan)))
        .filter(users::id.eq(row::bytes(user.uuid())))
        .select((
            (organizations::id, organizations::name, organizations::created_at, users::organization_role),
            PlanRow::as_select(),
        ))
        .get_result::<(OfColumns, PlanRow)>(connection)
        .optional()?;
    let Some(((id, name, created_at, role), plan)) = found else { return Ok(None) };
    let id = OrganizationId::new(row::uuid(&id)?);
    Ok(Some(OrganizationOf {
        id,
        name,
        created_at: row::time(created_at),
        role: row::word(&role, OrganizationRole::parse)?,
        members: count_on(connection, id)?,
        plan: plan.into_plan(),
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
    let of_name = organization_named_on(connection, OrganizationName::as_str(&command.name))?;
    if of_name.is_some_and(|other| other != row::bytes(id.uuid())) {
        return Ok(Err(RenameOrganizationRefused::NameTaken));
    }
    // Before the change, since the entry keeps the old name.
    audit::append_on(connection, [AuditEntry::organization_renamed(command)])?;
    diesel::update(organizations::table.find(row::bytes(id.uuid())))
        .set(organizations::name.eq(command.name.as_str()))
        .execute(connection)?;
    stored_on(connection, id).map(Ok)
}

fn stored_on(connection: &mut SqliteConnection, id: OrganizationId) -> Result<Organization, Fault> {
    let stored = organization_on(connection, &row::bytes(id.uuid()))?;
    stored.ok_or_else(|| Fault::Row("the organization disappeared within its own transaction".to_owned()))
}
