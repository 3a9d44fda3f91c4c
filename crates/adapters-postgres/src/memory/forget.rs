//! What becomes of the memories of an agent that is deleted: its private ones go, what others read
//! stays without it.

use diesel::prelude::*;
use diesel::sql_types::{Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{AgentId, OrganizationId};
use domain::time::Timestamp;

use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::memories;
use crate::statement::statement;

const FORGET: &str = "UPDATE memories SET status = CASE WHEN scope = 'agent' THEN 'deleted' ELSE status END, \
     source_id = CASE WHEN scope = 'agent' THEN source_id END, updated_at = ? \
     WHERE source_id = ? AND status <> 'deleted'";

pub(crate) async fn forget_on(mut db: &Db, agent: AgentId, now: Timestamp) -> Result<(), Fault> {
    statement::<SqlUuid>(FORGET)
        .bind::<Timestamptz, _>(At(now))
        .bind::<SqlUuid, _>(agent.uuid())
        .execute(&mut db)
        .await?;
    Ok(())
}

/// Deletes all memories of an organization that is deleted.
pub(crate) async fn forget_organization_on(
    mut db: &Db,
    organization: OrganizationId,
    now: Timestamp,
) -> Result<(), Fault> {
    let left = memories::table
        .filter(memories::organization_id.eq(organization.uuid()))
        .filter(memories::status.ne("deleted"));
    diesel::update(left)
        .set((memories::status.eq("deleted"), memories::updated_at.eq(At(now))))
        .execute(&mut db)
        .await?;
    Ok(())
}
