//! Writing plans and their assignments.

use std::collections::HashSet;

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sql_types::{Array, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::audit::{Actor, AuditEntry};
use domain::change::Change;
use domain::id::OrganizationId;
use domain::plan::{AssignPlan, AssignRefused, Organization, Plan, PlanName, WhichOrganization};
use domain::time::Timestamp;
use uuid::Uuid;

use super::list::organization_on;
use super::quota::limit_of;
use super::row::PlanRow;
use crate::audit;
use crate::change;
use crate::error::Fault;
use crate::lock;
use crate::row;
use crate::run::Db;
use crate::schema::{organizations, plans, users};
use crate::statement::statement;

const DELETE_UNUSED: &str = "DELETE FROM plans WHERE name <> ALL(?) \
     AND NOT EXISTS (SELECT 1 FROM organizations WHERE organizations.plan = plans.name)";

pub(super) async fn configure_on(
    mut db: &Db,
    configured: &[Plan],
    now: Timestamp,
) -> Result<Vec<PlanName>, Fault> {
    lock::names_on(db).await?;
    let names = configured.iter().map(|plan| plan.name.as_str().to_owned()).collect::<Vec<_>>();
    lock::organizations_with_on(db, &narrowed_on(db, configured).await?).await?;
    statement::<()>(DELETE_UNUSED).bind::<Array<Text>, _>(names.clone()).execute(&mut db).await?;
    for plan in configured {
        let row = PlanRow::of(plan);
        diesel::insert_into(plans::table)
            .values(&row)
            .on_conflict(plans::name)
            .do_update()
            .set(&row)
            .execute(&mut db)
            .await?;
    }
    let left = plans::table.filter(plans::name.ne_all(names)).order(plans::name).select(plans::name);
    let left = left.load::<String>(&mut db).await?;
    change::append_on(db, [Change::PlansConfigured], now).await?;
    Ok(left.into_iter().map(PlanName::from_stored).collect())
}

/// The plans whose limits change for existing organizations; waits for concurrent additions.
async fn narrowed_on(mut db: &Db, configured: &[Plan]) -> Result<Vec<String>, Fault> {
    let stored = plans::table
        .select((plans::name, plans::agents, plans::chats))
        .load::<(String, Option<i64>, Option<i64>)>(&mut db)
        .await?;
    let changes = |(name, agents, chats): &(String, Option<i64>, Option<i64>)| {
        let limits = (agents.map(limit_of), chats.map(limit_of));
        configured.iter().any(|plan| plan.name.as_str() == name && (plan.agents, plan.chats) != limits)
    };
    Ok(stored.into_iter().filter(changes).map(|(name, ..)| name).collect())
}

pub(super) async fn assign_on(
    mut db: &Db,
    command: &AssignPlan,
    by: Actor,
    now: Timestamp,
) -> Result<Result<Organization, AssignRefused>, Fault> {
    lock::names_on(db).await?;
    let Some(id) = which_on(db, &command.organization).await? else {
        return Ok(Err(AssignRefused::NoSuchOrganization));
    };
    if !plan_exists_on(db, &command.plan).await? {
        return Ok(Err(AssignRefused::NoSuchPlan));
    }
    lock::organization_on(db, id).await?;
    diesel::update(organizations::table.find(id))
        .set(organizations::plan.eq(command.plan.as_str()))
        .execute(&mut db)
        .await?;
    audit::append_on(db, [AuditEntry::plan_set(OrganizationId::new(id), &command.plan, by, now)]).await?;
    let organization = organization_on(db, id).await?;
    change::append_on(db, [Change::PlanAssigned(OrganizationId::new(id))], now).await?;
    organization
        .map(Ok)
        .ok_or_else(|| Fault::Row("the organization disappeared within its own transaction".to_owned()))
}

/// The id of the given organization.
pub(crate) async fn which_on(mut db: &Db, which: &WhichOrganization) -> Result<Option<Uuid>, Fault> {
    match which {
        WhichOrganization::Id(id) => {
            let found = organizations::table.find(id.uuid()).filter(organizations::deleted_at.is_null());
            Ok(found.select(organizations::id).first(&mut db).await.optional()?)
        }
        WhichOrganization::Named(name) => organization_named_on(db, name).await,
        WhichOrganization::OfUser(handle) => organization_of_on(db, handle).await,
    }
}

/// The id of the organization of the user with this handle.
async fn organization_of_on(mut db: &Db, handle: &str) -> Result<Option<Uuid>, Fault> {
    if !row::can_be_stored(handle) {
        return Ok(None);
    }
    let found = users::table
        .filter(users::handle.eq(handle))
        .filter(users::deleted_at.is_null())
        .select(users::organization_id);
    Ok(found.first(&mut db).await.optional()?)
}

/// Without the collation, a value would be lower-cased in the locale of the database.
const NAMED: &str =
    "SELECT id FROM organizations WHERE lower(name) = lower(? COLLATE \"C\") AND deleted_at IS NULL";

/// The id of the organization with this name, ignoring case.
pub(crate) async fn organization_named_on(mut db: &Db, name: &str) -> Result<Option<Uuid>, Fault> {
    if !row::can_be_stored(name) {
        return Ok(None);
    }
    let found = statement::<SqlUuid>(NAMED).bind::<Text, _>(name.to_owned()).get_result(&mut db).await;
    Ok(found.optional()?)
}

pub(crate) async fn plan_exists_on(mut db: &Db, plan: &PlanName) -> Result<bool, Fault> {
    Ok(select(exists(plans::table.find(plan.as_str()))).get_result(&mut db).await?)
}

/// The names that begin with this text and a dash; the dot follows the dash in the collation.
const NUMBERED: &str = "SELECT name FROM organizations \
     WHERE lower(name) >= lower(? COLLATE \"C\") || '-' AND lower(name) < lower(? COLLATE \"C\") || '.'";

/// A name that no organization has: this one, or one with a number appended.
pub(crate) async fn free_name_on(mut db: &Db, wished: &str) -> Result<String, Fault> {
    if organization_named_on(db, wished).await?.is_none() {
        return Ok(wished.to_owned());
    }
    let taken = statement::<Text>(NUMBERED)
        .bind::<Text, _>(wished.to_owned())
        .bind::<Text, _>(wished.to_owned())
        .load::<String>(&mut db)
        .await?;
    let taken = taken.into_iter().map(|name| name.to_lowercase()).collect::<HashSet<_>>();
    // There is one more number than names, so one of them is free.
    let mut numbered = (2..taken.len() + 3).map(|number| format!("{wished}-{number}"));
    let free = numbered.find(|name| !taken.contains(&name.to_lowercase()));
    free.ok_or_else(|| Fault::Row("no name is free".to_owned()))
}
