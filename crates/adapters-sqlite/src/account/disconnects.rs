//! Stores why the last sockets of agents ended.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::Disconnect;

use crate::error::Fault;
use crate::row;
use crate::schema::agents;

pub(super) fn note_on(connection: &mut SqliteConnection, ended: &[Disconnect]) -> Result<(), Fault> {
    for Disconnect { agent, last } in ended.iter().copied() {
        let before = last.replaces_before().micros();
        let is_news = agents::disconnected_at.is_null().or(agents::disconnected_at.lt(before));
        diesel::update(agents::table.find(row::bytes(agent.uuid())).filter(is_news))
            .set((
                agents::disconnected_at.eq(last.at.micros()),
                agents::disconnect_reason.eq(last.reason.as_str()),
            ))
            .execute(connection)?;
    }
    Ok(())
}
