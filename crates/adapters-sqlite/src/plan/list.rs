//! Reading plans and organizations.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::id::OrganizationId;
use domain::plan::{Organization, OrganizationInUse, PlanInUse, PlanName};

use super::quota::{self, bytes_of};
use super::row::{PauseColumns, PlanRow, pause_of};
use crate::chat::row::{LimitColumns, foreign_policy, max_hops, max_pair_messages};
use crate::error::Fault;
use crate::row;
use crate::schema::{organizations, plans, users};

pub(super) fn plans_on(connection: &mut SqliteConnection) -> Result<Vec<PlanInUse>, Fault> {
    let rows = plans::table.order(plans::name).select(PlanRow::as_select()).load(connection)?;
    let counted = organizations::table
        .group_by(organizations::plan)
        .select((organizations::plan, count_star()))
        .load::<(String, i64)>(connection)?;
    let organizations = |name: &str| {
        let count = counted.iter().find(|(plan, _)| plan == name).map_or(0, |(_, count)| *count);
        count.cast_unsigned()
    };
    let in_use = |row: PlanRow| {
        let organizations = organizations(&row.name);
        PlanInUse { plan: row.into_plan(), organizations }
    };
    Ok(rows.into_iter().map(in_use).collect())
}

/// Id, name, plan, counted bytes, pause, limits and policy, number of users.
type OrganizationColumns = (Vec<u8>, String, String, i64, PauseColumns, LimitColumns, i64);

/// The first `limit` organizations after a name.
pub(super) fn organizations_on(
    connection: &mut SqliteConnection,
    after: &str,
    limit: i64,
) -> Result<Vec<Organization>, Fault> {
    // Only the members of these are counted.
    let page = diesel::alias!(organizations as page);
    let of_page = page
        .filter(page.field(organizations::deleted_at).is_null())
        .filter(page.field(organizations::name).gt(after))
        .order(page.field(organizations::name))
        .limit(limit)
        .select(page.field(organizations::id));
    let rows = organizations::table
        .left_join(
            users::table.on(users::organization_id.eq(organizations::id).and(users::deleted_at.is_null())),
        )
        .filter(organizations::id.eq_any(of_page))
        .group_by((
            organizations::id,
            organizations::name,
            organizations::plan,
            organizations::content_bytes,
            organizations::paused_at,
            organizations::pause_reason,
            organizations::max_hops,
            organizations::max_pair_messages,
            organizations::foreign_policy,
        ))
        .order(organizations::name)
        .select((
            organizations::id,
            organizations::name,
            organizations::plan,
            organizations::content_bytes,
            (organizations::paused_at, organizations::pause_reason),
            (organizations::max_hops, organizations::max_pair_messages, organizations::foreign_policy),
            diesel::dsl::count(users::id.nullable()),
        ))
        .load::<OrganizationColumns>(connection)?;
    rows.into_iter().map(into_organization).collect()
}

pub(super) fn in_use_on(
    connection: &mut SqliteConnection,
    after: &str,
    limit: u32,
) -> Result<Vec<OrganizationInUse>, Fault> {
    let found = organizations_on(connection, after, limit.into())?;
    let names = found.iter().map(|organization| organization.plan.as_str());
    let rows = plans::table.filter(plans::name.eq_any(names)).select(PlanRow::as_select());
    let rows = rows.load(connection)?;
    let plans = rows.into_iter().map(PlanRow::into_plan).collect::<Vec<_>>();
    let in_use = |organization: Organization| {
        let plan = row::word(organization.plan.as_str(), |name| {
            plans.iter().find(|plan| plan.name.as_str() == name).cloned()
        })?;
        let (agents, chats) = quota::used_on(connection, organization.id)?;
        Ok(OrganizationInUse { organization, plan, agents, chats })
    };
    found.into_iter().map(in_use).collect()
}

pub(crate) fn organization_on(
    connection: &mut SqliteConnection,
    id: &[u8],
) -> Result<Option<Organization>, Fault> {
    let found = organizations::table
        .find(id)
        .filter(organizations::deleted_at.is_null())
        .select((
            organizations::id,
            organizations::name,
            organizations::plan,
            organizations::content_bytes,
            (organizations::paused_at, organizations::pause_reason),
            (organizations::max_hops, organizations::max_pair_messages, organizations::foreign_policy),
        ))
        .get_result::<(Vec<u8>, String, String, i64, PauseColumns, LimitColumns)>(connection)
        .optional()?;
    let Some((id, name, plan, bytes, pause, limits)) = found else { return Ok(None) };
    let members = users::table.filter(users::organization_id.eq(&id)).filter(users::deleted_at.is_null());
    let members = members.count().get_result(connection)?;
    into_organization((id, name, plan, bytes, pause, limits, members)).map(Some)
}

fn into_organization(
    (id, name, plan, bytes, pause, limits, users): OrganizationColumns,
) -> Result<Organization, Fault> {
    Ok(Organization {
        id: OrganizationId::new(row::uuid(&id)?),
        name,
        plan: PlanName::from_stored(plan),
        users: users.cast_unsigned(),
        bytes: bytes_of(bytes),
        pause: pause_of(pause),
        max_hops: limits.0.and_then(max_hops),
        max_pair_messages: limits.1.and_then(max_pair_messages),
        foreign: foreign_policy(limits.2.as_deref())?,
    })
}
