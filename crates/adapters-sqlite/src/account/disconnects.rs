//! Stores why the last sockets of agents ended.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Text};
use diesel::sqlite::SqliteConnection;
use domain::account::Disconnect;

use crate::error::Fault;
use crate::row::Id;
use crate::statement::statement;

pub(super) fn note_on(connection: &mut SqliteConnection, ended: &[Disconnect]) -> Result<(), Fault> {
    for Disconnect { agent, last } in ended.iter().copied() {
        let before = last.replaces_reason_before().micros();
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
