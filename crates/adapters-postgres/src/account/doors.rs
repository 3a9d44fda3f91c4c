//! The last uses of agents' doors.

use std::sync::LazyLock;

use diesel::prelude::*;
use diesel::sql_types::{Array, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::account::{Connection, DoorUse};
use domain::id::AgentId;
use uuid::Uuid;

use super::row::{DOOR_CONFLICT, DoorRow};
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::agent_doors;
use crate::statement::statement;

/// The rows are written in one order, so that servers do not deadlock. Agents are not locked: a row of one that is being
/// deleted cannot be read, and is removed when its work is erased.
static NOTE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "WITH noted AS (SELECT noted.* \
         FROM unnest(?, ?, ?, ?, ?, ?) AS noted (id, door, called_at, failed_at, failure, detail) \
         CROSS JOIN LATERAL (SELECT agents.deleted_at FROM agents WHERE agents.id = noted.id OFFSET 0) AS agent \
         WHERE agent.deleted_at IS NULL ORDER BY noted.id, noted.door) \
         INSERT INTO agent_doors (agent_id, door, called_at, failed_at, failure, detail) \
         SELECT id, door, called_at, failed_at, failure, detail FROM noted{DOOR_CONFLICT}"
    )
});

pub(super) async fn note_on(mut db: &Db, uses: &[DoorUse]) -> Result<(), Fault> {
    let failures = || uses.iter().map(|one| one.failure.as_ref());
    statement::<()>(NOTE.as_str())
        .bind::<Array<SqlUuid>, _>(uses.iter().map(|one| one.agent.uuid()).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(uses.iter().map(|one| one.door.as_str()).collect::<Vec<_>>())
        .bind::<Array<Nullable<Timestamptz>>, _>(
            uses.iter().map(|one| one.called_at.map(At)).collect::<Vec<_>>(),
        )
        .bind::<Array<Nullable<Timestamptz>>, _>(
            failures().map(|failure| failure.map(|failure| At(failure.at))).collect::<Vec<_>>(),
        )
        .bind::<Array<Nullable<Text>>, _>(
            failures().map(|failure| failure.map(|failure| &*failure.code)).collect::<Vec<_>>(),
        )
        .bind::<Array<Nullable<Text>>, _>(
            failures()
                .map(|failure| failure.and_then(|failure| failure.detail.as_deref()))
                .collect::<Vec<_>>(),
        )
        .execute(&mut db)
        .await?;
    Ok(())
}

/// The last connection of each agent whose end was a failure.
const ENDED: &str = "SELECT ended.agent_id, ended.began_at, ended.ended_at, ended.reason \
     FROM unnest(?) AS wanted (agent_id) JOIN agent_connections AS ended ON ended.agent_id = wanted.agent_id \
         AND ended.ended_at = (SELECT max(failed.ended_at) FROM agent_connections AS failed \
             WHERE failed.agent_id = wanted.agent_id AND failed.reason = ANY(?))";

pub(super) async fn list_on(mut db: &Db, agents: &[AgentId]) -> Result<Vec<DoorUse>, Fault> {
    let ids = agents.iter().map(|agent| agent.uuid()).collect::<Vec<_>>();
    let stored = agent_doors::table.filter(agent_doors::agent_id.eq_any(&ids)).select(DoorRow::as_select());
    let stored = stored.load(&mut db).await?.into_iter().filter_map(DoorRow::into_use);
    let ended = statement::<(SqlUuid, Nullable<Timestamptz>, Timestamptz, Text)>(ENDED)
        .bind::<Array<SqlUuid>, _>(&ids)
        .bind::<Array<Text>, _>(DoorUse::failed_ends().collect::<Vec<_>>())
        .load::<(Uuid, Option<At>, At, String)>(&mut db)
        .await?;
    let ended = ended.into_iter().filter_map(|(agent, began_at, At(ended_at), reason)| {
        let connection = Connection::of(began_at.map(|At(at)| at), ended_at, &reason)?;
        Some(DoorUse::of_connection(AgentId::new(agent), connection))
    });
    Ok(stored.chain(ended).collect())
}
