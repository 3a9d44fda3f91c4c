//! The last uses of agents' doors.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::account::{Connection, DoorUse};
use domain::id::AgentId;

use super::row::{DOOR_CONFLICT, DoorRow};
use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::agent_doors;
use crate::statement::statement;

pub(super) fn note_on(connection: &mut SqliteConnection, uses: &[DoorUse]) -> Result<(), Fault> {
    for DoorUse { agent, door, called_at, failure } in uses {
        let failure = failure.as_ref();
        statement!(
            "INSERT INTO agent_doors (agent_id, door, called_at, failed_at, failure, detail) \
             SELECT id, ?, ?, ?, ?, ? FROM agents WHERE id = ? AND deleted_at IS NULL",
            DOOR_CONFLICT
        )
        .bind::<Text, _>(door.as_str())
        .bind::<Nullable<BigInt>, _>(called_at.map(At))
        .bind::<Nullable<BigInt>, _>(failure.map(|failure| At(failure.at)))
        .bind::<Nullable<Text>, _>(failure.map(|failure| &*failure.code))
        .bind::<Nullable<Text>, _>(failure.and_then(|failure| failure.detail.as_deref()))
        .bind::<Binary, _>(Id(agent.uuid()))
        .execute(connection)?;
    }
    Ok(())
}

pub(super) fn list_on(connection: &mut SqliteConnection, agents: &[AgentId]) -> Result<Vec<DoorUse>, Fault> {
    let ids = agents.iter().map(|agent| row::bytes(agent.uuid())).collect::<Vec<_>>();
    let stored = agent_doors::table.filter(agent_doors::agent_id.eq_any(ids)).select(DoorRow::as_select());
    let stored = stored.load(connection)?.into_iter().filter_map(DoorRow::into_use);
    let wanted = agents.iter().map(|agent| Id(agent.uuid()).hex()).collect::<Vec<_>>();
    let failed = DoorUse::failed_ends().collect::<Vec<_>>();
    let ended = statement!(
        "SELECT ended.agent_id, ended.began_at, ended.ended_at, ended.reason FROM json_each(?) AS wanted \
         CROSS JOIN agent_connections AS ended ON ended.agent_id = unhex(wanted.value) \
         AND ended.ended_at = (SELECT max(failed.ended_at) FROM agent_connections AS failed \
             WHERE failed.agent_id = unhex(wanted.value) AND failed.reason IN (SELECT value FROM json_each(?)))"
            => (Binary, Nullable<BigInt>, BigInt, Text)
    )
    .bind::<Text, _>(row::to_json(&wanted)?)
    .bind::<Text, _>(row::to_json(&failed)?)
    .load::<(Id, Option<At>, At, String)>(connection)?;
    let ended = ended.into_iter().filter_map(|(Id(agent), began_at, At(ended_at), reason)| {
        let connection = Connection::of(began_at.map(|At(at)| at), ended_at, &reason)?;
        Some(DoorUse::of_connection(AgentId::new(agent), connection))
    });
    Ok(stored.chain(ended).collect())
}
