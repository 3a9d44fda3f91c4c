//! The memories of a deleted agent: private ones are deleted, shared ones stay without their
//! source.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::id::{AgentId, OrganizationId};
use domain::time::Timestamp;

use crate::error::Fault;
use crate::row;
use crate::schema::memories;

// The exact condition of the partial index, or it could not be used.
const DELETE_PRIVATE: &str = "DELETE FROM memories INDEXED BY memories_of_source \
     WHERE source_id = ? AND status <> 'deleted' AND scope = 'agent'";
const LEAVE: &str = "UPDATE memories INDEXED BY memories_of_source SET source_id = NULL, updated_at = ? \
     WHERE source_id = ? AND status <> 'deleted'";

pub(crate) fn forget_on(
    connection: &mut SqliteConnection,
    agent: AgentId,
    now: Timestamp,
) -> Result<(), Fault> {
    let id = row::bytes(agent.uuid());
    diesel::sql_query(DELETE_PRIVATE).bind::<Binary, _>(&id).execute(connection)?;
    diesel::sql_query(LEAVE).bind::<BigInt, _>(now.micros()).bind::<Binary, _>(&id).execute(connection)?;
    Ok(())
}

/// Deletes all memories of an organization that is deleted.
pub(crate) fn forget_organization_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
) -> Result<(), Fault> {
    let all = memories::table
        .filter(memories::organization_id.eq(row::bytes(organization.uuid())))
        .filter(memories::status.ne("deleted"));
    diesel::delete(all).execute(connection)?;
    Ok(())
}
