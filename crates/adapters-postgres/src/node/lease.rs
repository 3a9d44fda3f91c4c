//! Leases: registered, renewed, expired.

use std::time::Duration;

use diesel::sql_types::{Array, BigInt, Bool, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::change::Change;
use domain::id::NodeId;
use uuid::Uuid;

use super::register::{alone_on, append_changes_on};
use crate::error::Fault;
use crate::run::Db;
use crate::statement::statement;

/// `?` is in milliseconds.
macro_rules! from_now {
    () => {
        "clock_timestamp() + ? * interval '1 millisecond'"
    };
}

const ENTER: &str = concat!(
    "INSERT INTO nodes (id, entered_at, lease_until) VALUES (?, clock_timestamp(), ",
    from_now!(),
    ")"
);

const RENEW: &str = concat!(
    "UPDATE nodes SET lease_until = ",
    from_now!(),
    " WHERE id = ? AND ended_at IS NULL RETURNING id"
);

/// Connections that broke that long ago block no claim.
const LOSE_ALL: &str =
    "UPDATE agent_sockets SET lost_at = clock_timestamp() WHERE node_id = ? AND lost_at IS NULL";

const IS_ONE_OVER: &str =
    "SELECT EXISTS (SELECT FROM nodes WHERE ended_at IS NULL AND lease_until <= clock_timestamp())";

/// A lease that is being renewed is checked again after that commit.
const CLEAR: &str = "UPDATE nodes SET ended_at = clock_timestamp() \
     WHERE ended_at IS NULL AND lease_until <= clock_timestamp() AND EXISTS (SELECT FROM nodes AS own \
     WHERE own.id = ? AND own.ended_at IS NULL \
     AND own.lease_until > clock_timestamp() + ? * interval '1 millisecond') RETURNING id";

const CLEARED: &str = "SELECT id FROM nodes WHERE ended_at IS NOT NULL";

const ERASE_AGENTS: &str = "DELETE FROM agent_sockets WHERE agent_id = ANY (ARRAY(\
     SELECT agent_id FROM agent_sockets WHERE node_id = ANY(?) LIMIT ?))";

const ERASE_USERS: &str = "DELETE FROM user_nodes WHERE node_id = ANY(?) AND user_id = ANY (ARRAY(\
     SELECT user_id FROM user_nodes WHERE node_id = ANY(?) LIMIT ?))";

const ERASE_NODES: &str = "DELETE FROM nodes WHERE id = ANY(?)";

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

pub(super) async fn enter_on(mut db: &Db, node: NodeId, lease: Duration) -> Result<(), Fault> {
    let enter = statement::<()>(ENTER).bind::<SqlUuid, _>(node.uuid()).bind::<BigInt, _>(millis(lease));
    enter.execute(&mut db).await?;
    Ok(())
}

pub(super) async fn renew_on(mut db: &Db, node: NodeId, lease: Duration) -> Result<bool, Fault> {
    let renew = statement::<SqlUuid>(RENEW).bind::<BigInt, _>(millis(lease)).bind::<SqlUuid, _>(node.uuid());
    Ok(!renew.load::<Uuid>(&mut db).await?.is_empty())
}

pub(super) async fn leave_on(mut db: &Db, node: NodeId, grace: Duration) -> Result<(), Fault> {
    alone_on(db).await?;
    statement::<()>(LOSE_ALL).bind::<SqlUuid, _>(node.uuid()).execute(&mut db).await?;
    renew_on(db, node, grace).await?;
    Ok(())
}

pub(super) async fn is_one_over_on(mut db: &Db) -> Result<bool, Fault> {
    Ok(statement::<Bool>(IS_ONE_OVER).get_result::<bool>(&mut db).await?)
}

pub(super) async fn is_one_cleared_on(db: &Db) -> Result<bool, Fault> {
    Ok(!cleared_on(db).await?.is_empty())
}

async fn cleared_on(mut db: &Db) -> Result<Vec<Uuid>, Fault> {
    Ok(statement::<SqlUuid>(CLEARED).load::<Uuid>(&mut db).await?)
}

pub(super) async fn clear_on(mut db: &Db, by: NodeId, holding: Duration) -> Result<u32, Fault> {
    alone_on(db).await?;
    let clear = statement::<SqlUuid>(CLEAR).bind::<SqlUuid, _>(by.uuid()).bind::<BigInt, _>(millis(holding));
    let cleared = clear.load::<Uuid>(&mut db).await?;
    let count = u32::try_from(cleared.len()).unwrap_or(u32::MAX);
    let changes = cleared.into_iter().map(|node| Change::NodeCleared(NodeId::new(node)));
    append_changes_on(db, changes.collect()).await?;
    Ok(count)
}

/// Erases the nodes themselves when all their rows are gone.
pub(super) async fn erase_on(mut db: &Db, limit: u32) -> Result<u32, Fault> {
    alone_on(db).await?;
    let cleared = cleared_on(db).await?;
    let agents = statement::<()>(ERASE_AGENTS)
        .bind::<Array<SqlUuid>, _>(cleared.clone())
        .bind::<BigInt, _>(i64::from(limit))
        .execute(&mut db)
        .await?;
    let users = statement::<()>(ERASE_USERS)
        .bind::<Array<SqlUuid>, _>(cleared.clone())
        .bind::<Array<SqlUuid>, _>(cleared.clone())
        .bind::<BigInt, _>(i64::from(limit))
        .execute(&mut db)
        .await?;
    let nodes = match agents + users {
        0 => {
            let erase = statement::<()>(ERASE_NODES).bind::<Array<SqlUuid>, _>(cleared);
            erase.execute(&mut db).await?
        }
        _ => 0,
    };
    Ok(u32::try_from(agents + users + nodes).unwrap_or(u32::MAX))
}
