//! The memories of a deleted agent: private ones are deleted, shared ones stay without their
//! source.

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

// The exact condition of the partial indexes, or they could not be used.
const DELETE_PRIVATE: &str =
    "DELETE FROM memories WHERE source_id = ? AND status <> 'deleted' AND scope = 'agent'";
const LEAVE: &str =
    "UPDATE memories SET source_id = NULL, updated_at = ? WHERE source_id = ? AND status <> 'deleted'";

pub(crate) async fn forget_on(mut db: &Db, agent: AgentId, now: Timestamp) -> Result<(), Fault> {
    statement::<()>(DELETE_PRIVATE).bind::<SqlUuid, _>(agent.uuid()).execute(&mut db).await?;
    statement::<()>(LEAVE)
        .bind::<Timestamptz, _>(At(now))
        .bind::<SqlUuid, _>(agent.uuid())
        .execute(&mut db)
        .await?;
    Ok(())
}

/// Deletes all memories of an organization that is deleted.
pub(crate) async fn forget_organization_on(mut db: &Db, organization: OrganizationId) -> Result<(), Fault> {
    let all = memories::table
        .filter(memories::organization_id.eq(organization.uuid()))
        .filter(memories::status.ne("deleted"));
    diesel::delete(all).execute(&mut db).await?;
    Ok(())
}
