//! Writing plans and their assignments.

use std::collections::HashSet;

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel::sqlite::SqliteConnection;
use domain::audit::{Actor, AuditEntry};
use domain::change::Change;
use domain::id::OrganizationId;
use domain::plan::{AssignPlan, AssignRefused, Organization, Plan, PlanName, WhichOrganization};
use domain::time::Timestamp;

use super::list::organization_on;
use super::row::PlanRow;
use crate::audit;
use crate::change;
use crate::error::Fault;
use crate::row;
use crate::schema::{organizations, plans, users};

#[derive(QueryableByName)]
struct Named {
    #[diesel(sql_type = Text)]
    name: String,
}

pub(super) fn configure_on(
    connection: &mut SqliteConnection,
    configured: &[Plan],
    now: Timestamp,
) -> Result<Vec<PlanName>, Fault> {
    let names = configured.iter().map(|plan| plan.name.as_str()).collect::<Vec<_>>();
    let in_use = organizations::table.select(organizations::plan).distinct().load::<String>(connection)?;
    let unused = plans::table.filter(plans::name.ne_all(&names)).filter(plans::name.ne_all(in_use));
    diesel::delete(unused).execute(connection)?;
    for plan in configured {
        let row = PlanRow::of(plan);
        diesel::insert_into(plans::table)
            .values(&row)
            .on_conflict(plans::name)
            .do_update()
            .set(&row)
            .execute(connection)?;
    }
    change::append_on(connection, [Change::PlansConfigured], now)?;
    let left = plans::table.filter(plans::name.ne_all(&names)).order(plans::name).select(plans::name);
    Ok(left.load::<String>(connection)?.into_iter().map(PlanName::from_stored).collect())
}

pub(super) fn assign_on(
    connection: &mut SqliteConnection,
    command: &AssignPlan,
    by: Actor,
    now: Timestamp,
) -> Result<Result<Organization, AssignRefused>, Fault> {
    let Some(id) = which_on(connection, &command.organization)? else {
        return Ok(Err(AssignRefused::NoSuchOrganization));
    };
    if !plan_exists_on(connection, &command.plan)? {
        return Ok(Err(AssignRefused::NoSuchPlan));
    }
    diesel::update(organizations::table.find(&id))
        .set(organizations::plan.eq(command.plan.as_str()))
        .execute(connection)?;
    let assigned = OrganizationId::new(row::uuid(&id)?);
    audit::append_on(connection, [AuditEntry::plan_set(assigned, &command.plan, by, now)])?;
    change::append_on(connection, [Change::PlanAssigned(assigned)], now)?;
    let organization = organization_on(connection, &id)?;
    organization
        .map(Ok)
        .ok_or_else(|| Fault::Row("the organization disappeared within its own transaction".to_owned()))
}

/// The id of the given organization.
pub(crate) fn which_on(
    connection: &mut SqliteConnection,
    which: &WhichOrganization,
) -> Result<Option<Vec<u8>>, Fault> {
    Ok(match which {
        WhichOrganization::Id(id) => organizations::table
            .find(row::bytes(id.uuid()))
            .filter(organizations::deleted_at.is_null())
            .select(organizations::id)
            .get_result(connection)
            .optional()?,
        WhichOrganization::Named(name) => organization_named_on(connection, name)?,
        WhichOrganization::OfUser(handle) => users::table
            .filter(users::handle.eq(handle))
            .filter(users::deleted_at.is_null())
            .select(users::organization_id)
            .get_result(connection)
            .optional()?,
    })
}

/// The id of the organization with this name, ignoring case.
pub(crate) fn organization_named_on(
    connection: &mut SqliteConnection,
    name: &str,
) -> Result<Option<Vec<u8>>, Fault> {
    let same =
        diesel::dsl::sql::<diesel::sql_types::Bool>("name = ").bind::<Text, _>(name).sql(" COLLATE NOCASE");
    let found = organizations::table
        .filter(same)
        .filter(organizations::deleted_at.is_null())
        .select(organizations::id)
        .get_result(connection);
    Ok(found.optional()?)
}

pub(crate) fn plan_exists_on(connection: &mut SqliteConnection, plan: &PlanName) -> Result<bool, Fault> {
    Ok(select(exists(plans::table.find(plan.as_str()))).get_result(connection)?)
}

/// A name that no organization has: this one, or one with a number appended.
pub(crate) fn free_name_on(connection: &mut SqliteConnection, wished: &str) -> Result<String, Fault> {
    if organization_named_on(connection, wished)?.is_none() {
        return Ok(wished.to_owned());
    }
    let taken = diesel::sql_query("SELECT name FROM organizations WHERE name LIKE ?1 ESCAPE '!'")
        .bind::<Text, _>(format!("{}-%", wished.replace('!', "!!").replace('%', "!%").replace('_', "!_")))
        .load::<Named>(connection)?;
    let taken = taken.into_iter().map(|row| row.name.to_lowercase()).collect::<HashSet<_>>();
    // There is one more number than names, so one of them is free.
    let mut numbered = (2..taken.len() + 3).map(|number| format!("{wished}-{number}"));
    let free = numbered.find(|name| !taken.contains(&name.to_lowercase()));
    free.ok_or_else(|| Fault::Row("no name is free".to_owned()))
}
