//! What becomes of the memories of an agent that is deleted: its private ones go, what others read
//! stays without it.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::id::{AgentId, OrganizationId};
use domain::time::Timestamp;

use crate::error::Fault;
use crate::row;
use crate::schema::memories;

const FORGET: [&str; 2] = [
    "UPDATE memories INDEXED BY memories_of_source SET status = 'deleted', updated_at = ?2 \
     WHERE source_id = ?1 AND status <> 'deleted' AND scope = 'agent'",
    "UPDATE memories INDEXED BY memories_of_source SET source_id = NULL, updated_at = ?2 \
     WHERE source_id = ?1 AND status <> 'deleted'",
];

pub(crate) fn forget_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    now: Timestamp,
) -> Result<(), Fault> {
    for statement in FORGET {
        diesel::sql_query(statement)
            .bind::<Binary, _>(row::bytes(agent.uuid()))
            .bind::<BigInt, _>(now.micros())
            .execute(connection)?;
    }
    Ok(())
}

/// Deletes all memories of an organization that is deleted.
pub(crate) fn forget_organization_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    now: Timestamp,
) -> Result<(), Fault> {
    let left = memories::table
        .filter(memories::organization_id.eq(row::bytes(organization.uuid())))
        .filter(memories::status.ne("deleted"));
    diesel::update(left)
        .set((memories::status.eq("deleted"), memories::updated_at.eq(now.micros())))
        .execute(connection)?;
    Ok(())
}
