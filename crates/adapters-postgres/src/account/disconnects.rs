//! Stores why the last sockets of agents ended.

use std::convert::Infallible;

use diesel::sql_types::{Array, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::account::Disconnect;

use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::statement::statement;

/// The rows are locked in one order, so that servers do not deadlock.
const NOTE: &str = "WITH ended AS (SELECT agents.id, ended.at, \
     CASE WHEN agents.disconnected_at >= ended.before THEN agents.disconnect_reason ELSE ended.reason END AS reason \
     FROM unnest(?, ?, ?, ?) AS ended (id, at, reason, before) JOIN agents ON agents.id = ended.id \
         AND (agents.disconnected_at IS NULL OR agents.disconnected_at < ended.at) \
     ORDER BY agents.id FOR NO KEY UPDATE OF agents) \
     UPDATE agents SET disconnected_at = ended.at, disconnect_reason = ended.reason \
     FROM ended WHERE agents.id = ended.id";

pub(super) async fn note_on(mut db: &Db, ended: &[Disconnect]) -> Result<Result<(), Infallible>, Fault> {
    let reasons = ended.iter().map(|one| one.last.reason.as_str().to_owned());
    statement::<()>(NOTE)
        .bind::<Array<SqlUuid>, _>(ended.iter().map(|one| one.agent.uuid()).collect::<Vec<_>>())
        .bind::<Array<Timestamptz>, _>(ended.iter().map(|one| At(one.last.at)).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(reasons.collect::<Vec<_>>())
        .bind::<Array<Timestamptz>, _>(
            ended.iter().map(|one| At(one.last.replaces_reason_before())).collect::<Vec<_>>(),
        )
        .execute(&mut db)
        .await?;
    Ok(Ok(()))
}
