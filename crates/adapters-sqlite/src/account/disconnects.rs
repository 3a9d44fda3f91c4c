//! The ends of agents' sockets.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::account::{Connection, Disconnect};
use domain::id::AgentId;

use crate::error::Fault;
use crate::row::{At, Id};
use crate::statement::statement;

pub(super) fn note_on(connection: &mut SqliteConnection, ended: &[Disconnect]) -> Result<(), Fault> {
    for Disconnect { agent, began_at, last } in ended.iter().copied() {
        let before = last.replaces_reason_before().micros();
        statement!(
            "INSERT INTO agent_connections (agent_id, ended_at, began_at, reason) \
             SELECT id, ?, ?, ? FROM agents WHERE id = ? AND deleted_at IS NULL \
             AND (disconnected_at IS NULL OR disconnected_at < ?)"
        )
        .bind::<BigInt, _>(last.at.micros())
        .bind::<Nullable<BigInt>, _>(began_at.map(At))
        .bind::<Text, _>(last.reason.as_str())
        .bind::<Binary, _>(Id(agent.uuid()))
        .bind::<BigInt, _>(before)
        .execute(connection)?;
        statement!(
            "DELETE FROM agent_connections WHERE agent_id = ? AND ended_at <= (SELECT ended_at FROM agent_connections \
             WHERE agent_id = ? ORDER BY ended_at DESC LIMIT 1 OFFSET ?)"
        )
        .bind::<Binary, _>(Id(agent.uuid()))
        .bind::<Binary, _>(Id(agent.uuid()))
        .bind::<BigInt, _>(i64::from(Connection::KEPT))
        .execute(connection)?;
        // Each assignment reads the row as it was.
        statement!(
            "UPDATE agents SET disconnected_at = ?, \
             disconnect_reason = CASE WHEN disconnected_at >= ? THEN disconnect_reason ELSE ? END \
             WHERE id = ? AND (disconnected_at IS NULL OR disconnected_at < ?)"
        )
        .bind::<BigInt, _>(last.at.micros())
        .bind::<BigInt, _>(before)
        .bind::<Text, _>(last.reason.as_str())
        .bind::<Binary, _>(Id(agent.uuid()))
        .bind::<BigInt, _>(last.at.micros())
        .execute(connection)?;
    }
    Ok(())
}

pub(super) fn list_on(connection: &mut SqliteConnection, agent: AgentId) -> Result<Vec<Connection>, Fault> {
    let rows = statement!(
        "SELECT began_at, ended_at, reason FROM agent_connections WHERE agent_id = ? ORDER BY ended_at DESC"
            => (Nullable<BigInt>, BigInt, Text)
    );
    let rows = rows.bind::<Binary, _>(Id(agent.uuid())).load::<(Option<At>, At, String)>(connection)?;
    let connection = |(began_at, At(ended_at), reason): (Option<At>, At, String)| {
        Connection::of(began_at.map(|At(at)| at), ended_at, &reason)
    };
    Ok(rows.into_iter().filter_map(connection).collect())
}
