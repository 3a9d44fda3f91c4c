//! The ends of agents' sockets.

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::account::{AgentConnection, Connection, Disconnect, EndReason};
use domain::id::AgentId;
use domain::page::Position;
use domain::time::Timestamp;
use uuid::Uuid;

use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::agent_connections;
use crate::statement::statement;

/// The rows are locked in one order, so that servers do not deadlock.
const NOTE: &str = "WITH ended AS (SELECT agents.id, ended.at, ended.began_at, ended.reason, \
     agents.disconnected_at IS NULL OR agents.disconnected_at < ended.before AS is_told, \
     agents.deleted_at IS NULL AS is_there \
     FROM unnest(?, ?, ?, ?, ?) AS ended (id, at, began_at, reason, before) JOIN agents ON agents.id = ended.id \
         AND (agents.disconnected_at IS NULL OR agents.disconnected_at < ended.at) \
     ORDER BY agents.id FOR NO KEY UPDATE OF agents), \
     kept AS (INSERT INTO agent_connections (agent_id, ended_at, began_at, reason) \
         SELECT id, at, began_at, reason FROM ended WHERE is_told AND is_there) \
     UPDATE agents SET disconnected_at = ended.at, \
     disconnect_reason = CASE WHEN ended.is_told THEN ended.reason ELSE agents.disconnect_reason END \
     FROM ended WHERE agents.id = ended.id";

const FORGET: &str = "DELETE FROM agent_connections USING unnest(?) AS ended (id) \
     WHERE agent_connections.agent_id = ended.id AND agent_connections.ended_at <= (SELECT newer.ended_at \
         FROM agent_connections AS newer WHERE newer.agent_id = ended.id ORDER BY newer.ended_at DESC LIMIT 1 OFFSET ?)";

pub(super) async fn note_on(mut db: &Db, ended: &[Disconnect]) -> Result<(), Fault> {
    let reasons = ended.iter().map(|one| one.last.reason.as_str().to_owned());
    let agents = ended.iter().map(|one| one.agent.uuid()).collect::<Vec<_>>();
    statement::<()>(NOTE)
        .bind::<Array<SqlUuid>, _>(&agents)
        .bind::<Array<Timestamptz>, _>(ended.iter().map(|one| At(one.last.at)).collect::<Vec<_>>())
        .bind::<Array<Nullable<Timestamptz>>, _>(
            ended.iter().map(|one| one.began_at.map(At)).collect::<Vec<_>>(),
        )
        .bind::<Array<Text>, _>(reasons.collect::<Vec<_>>())
        .bind::<Array<Timestamptz>, _>(
            ended.iter().map(|one| At(one.last.replaces_reason_before())).collect::<Vec<_>>(),
        )
        .execute(&mut db)
        .await?;
    statement::<()>(FORGET)
        .bind::<Array<SqlUuid>, _>(&agents)
        .bind::<BigInt, _>(i64::from(Connection::KEPT))
        .execute(&mut db)
        .await?;
    Ok(())
}

const LIST: &str =
    "SELECT began_at, ended_at, reason FROM agent_connections WHERE agent_id = ? ORDER BY ended_at DESC";

pub(super) async fn list_on(mut db: &Db, agent: AgentId) -> Result<Vec<Connection>, Fault> {
    let rows = statement::<(Nullable<Timestamptz>, Timestamptz, Text)>(LIST).bind::<SqlUuid, _>(agent.uuid());
    let rows = rows.load::<(Option<At>, At, String)>(&mut db).await?;
    let connection = |(began_at, At(ended_at), reason): (Option<At>, At, String)| {
        Connection::of(began_at.map(|At(at)| at), ended_at, &reason)
    };
    Ok(rows.into_iter().filter_map(connection).collect())
}

pub(super) async fn before_on(
    mut db: &Db,
    before: Option<&Position>,
    limit: u32,
) -> Result<Vec<AgentConnection>, Fault> {
    // A newer version may know more reasons.
    let mut rows =
        agent_connections::table.filter(agent_connections::reason.eq_any(EndReason::WORDS)).into_boxed();
    if let Some(Position { key, id, .. }) = before {
        let at = At(Timestamp::from_micros(*key));
        let is_before = agent_connections::ended_at.lt(at);
        let same_time = agent_connections::ended_at.eq(at);
        rows = rows
            // The condition that the index needs.
            .filter(agent_connections::ended_at.le(at))
            .filter(is_before.or(same_time.and(agent_connections::agent_id.lt(id.uuid()))));
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
        .load::<(Uuid, Option<At>, At, String)>(&mut db)
        .await?;
    let row = |(agent, began_at, At(ended_at), reason): (Uuid, Option<At>, At, String)| {
        let connection = Connection::of(began_at.map(|At(at)| at), ended_at, &reason)?;
        Some(AgentConnection { agent: AgentId::new(agent), connection })
    };
    Ok(rows.into_iter().filter_map(row).collect())
}
