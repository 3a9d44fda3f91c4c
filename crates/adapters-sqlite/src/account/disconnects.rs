//! The ends of agents' sockets.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::account::{AgentConnection, Connection, Disconnect, EndReason};
use domain::id::AgentId;
use domain::page::Position;

use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::agent_connections;
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

pub(super) fn before_on(
    connection: &mut SqliteConnection,
    before: Option<&Position>,
    limit: u32,
) -> Result<Vec<AgentConnection>, Fault> {
    // A newer version may know more reasons.
    let mut rows =
        agent_connections::table.filter(agent_connections::reason.eq_any(EndReason::WORDS)).into_boxed();
    if let Some(Position { key, id, .. }) = before {
        let is_before = agent_connections::ended_at.lt(key);
        let same_time = agent_connections::ended_at.eq(key);
        rows = rows
            // The condition that the index needs.
            .filter(agent_connections::ended_at.le(key))
            .filter(is_before.or(same_time.and(agent_connections::agent_id.lt(row::bytes(id.uuid())))));
    }
    let rows = rows
        .order((agent_connections::ended_at.desc(), agent_connections::agent_id.desc()))
        .limit(i64::from(limit))
        .select((
            agent_connections::agent_id,
            agent_connections::began_at,
            agent_connections::ended_at,
            agent_connections::reason,
        ))
        .load::<(Vec<u8>, Option<At>, At, String)>(connection)?;
    let row = |(agent, began_at, At(ended_at), reason): (Vec<u8>, Option<At>, At, String)| {
        let agent = row::agent_id(&agent)?;
        let connection = Connection::of(began_at.map(|At(at)| at), ended_at, &reason);
        Ok(connection.map(|connection| AgentConnection { agent, connection }))
    };
    rows.into_iter().filter_map(|columns| row(columns).transpose()).collect()
}
