//! Reading plans and organizations.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::id::OrganizationId;
use domain::plan::{Organization, Plan, PlanInUse, PlanName};
use uuid::Uuid;

use super::quota::{bytes_of, limit_of};
use crate::error::Fault;
use crate::run::Db;
use crate::schema::{organizations, plans, users};

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = plans, treat_none_as_null = true)]
pub(crate) struct PlanRow {
    pub(super) name: String,
    agents: Option<i64>,
    chats: Option<i64>,
    participants: Option<i64>,
    messages: Option<i64>,
    bytes: Option<i64>,
    human_interface: bool,
    memories: bool,
}

impl PlanRow {
    pub(super) fn of(plan: &Plan) -> Self {
        Self {
            name: plan.name.as_str().to_owned(),
            agents: plan.agents.map(i64::from),
            chats: plan.chats.map(i64::from),
            participants: plan.participants.map(i64::from),
            messages: plan.messages.map(i64::from),
            bytes: plan.bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX)),
            human_interface: plan.human_interface,
            memories: plan.memories,
        }
    }

    pub(crate) fn into_plan(self) -> Plan {
        Plan {
            name: PlanName::from_stored(self.name),
            agents: self.agents.map(limit_of),
            chats: self.chats.map(limit_of),
            participants: self.participants.map(limit_of),
            messages: self.messages.map(limit_of),
            bytes: self.bytes.map(bytes_of),
            human_interface: self.human_interface,
            memories: self.memories,
        }
    }
}

pub(super) async fn plans_on(mut db: &Db) -> Result<Vec<PlanInUse>, Fault> {
    let rows = plans::table.order(plans::name).select(PlanRow::as_select()).load(&mut db).await?;
    let counted = organizations::table
        .group_by(organizations::plan)
        .select((organizations::plan, count_star()))
        .load::<(String, i64)>(&mut db)
        .await?;
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

/// Id, name, plan, counted bytes, number of users.
type OrganizationColumns = (Uuid, String, String, i64, i64);

pub(super) async fn organizations_on(mut db: &Db) -> Result<Vec<Organization>, Fault> {
    let rows = organizations::table
        .left_join(
            users::table.on(users::organization_id.eq(organizations::id).and(users::deleted_at.is_null())),
        )
        .filter(organizations::deleted_at.is_null())
        .group_by((organizations::id, organizations::name, organizations::plan, organizations::content_bytes))
        .order(organizations::name)
        .select((
            organizations::id,
            organizations::name,
            organizations::plan,
            organizations::content_bytes,
            diesel::dsl::count(users::id.nullable()),
        ))
        .load::<OrganizationColumns>(&mut db)
        .await?;
    Ok(rows.into_iter().map(into_organization).collect())
}

pub(crate) async fn organization_on(mut db: &Db, id: Uuid) -> Result<Option<Organization>, Fault> {
    let found = organizations::table
        .find(id)
        .filter(organizations::deleted_at.is_null())
        .select((organizations::id, organizations::name, organizations::plan, organizations::content_bytes))
        .first::<(Uuid, String, String, i64)>(&mut db)
        .await
        .optional()?;
    let Some((id, name, plan, bytes)) = found else { return Ok(None) };
    let members = users::table.filter(users::organization_id.eq(id)).filter(users::deleted_at.is_null());
    let members = members.count().get_result(&mut db).await?;
    Ok(Some(into_organization((id, name, plan, bytes, members))))
}

fn into_organization((id, name, plan, bytes, users): OrganizationColumns) -> Organization {
    Organization {
        id: OrganizationId::new(id),
        name,
        plan: PlanName::from_stored(plan),
        users: users.cast_unsigned(),
        bytes: bytes_of(bytes),
    }
}
