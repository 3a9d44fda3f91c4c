//! The changes that a node writes: connections, disconnections, and claims of its sockets.

use std::collections::HashMap;

use diesel::sql_types::{Array, BigInt, Bool, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::change::Change;
use domain::id::{AgentId, NodeId, ParticipantId, UserId};
use domain::node::{AgentClaim, Granted, Holder, PresenceChange, Registered, SocketNumber};
use uuid::Uuid;

use crate::error::Fault;
use crate::lock;
use crate::run::{Db, execute};
use crate::statement::statement;

const IS_NODE: &str = "SELECT EXISTS (SELECT FROM nodes WHERE id = ? AND ended_at IS NULL)";

const USERS_CAME: &str = "INSERT INTO user_nodes (user_id, node_id, since) \
     SELECT came, ?, clock_timestamp() FROM unnest(?) AS came ON CONFLICT DO NOTHING RETURNING user_id";

const USERS_WENT: &str = "DELETE FROM user_nodes WHERE node_id = ? AND user_id = ANY(?) RETURNING user_id";

const AGENTS_LOST: &str = "UPDATE agent_sockets SET lost_at = clock_timestamp() \
     WHERE node_id = ? AND agent_id = ANY(?) AND lost_at IS NULL";

const AGENTS_WENT: &str =
    "DELETE FROM agent_sockets WHERE node_id = ? AND agent_id = ANY(?) RETURNING agent_id";

/// Only nodes that were not cleared: after an outage of the store all leases have expired, but all
/// sockets are still open.
const HOLDERS: &str = "SELECT agent_id, node_id, lost_at IS NULL FROM agent_sockets WHERE agent_id = ANY(?) \
     AND EXISTS (SELECT FROM nodes WHERE id = node_id AND ended_at IS NULL)";

const TAKE: &str = "INSERT INTO agent_sockets (agent_id, node_id, number, since) \
     SELECT taken.agent_id, ?, taken.number, clock_timestamp() \
     FROM unnest(?, ?) AS taken (agent_id, number) ON CONFLICT (agent_id) DO UPDATE \
     SET node_id = EXCLUDED.node_id, number = EXCLUDED.number, since = EXCLUDED.since, lost_at = NULL";

const APPEND: &str = "INSERT INTO change_log (kind, subject_id, changed_at) \
     SELECT entry.kind, entry.subject_id, clock_timestamp() \
     FROM unnest(?, ?) WITH ORDINALITY AS entry (kind, subject_id, number) ORDER BY entry.number RETURNING id";

/// Takes the lock of the change log for a short change: if this server stops or disappears during
/// it, the others wait for two seconds, and not until the lease expires.
pub(super) async fn alone_on(db: &Db) -> Result<(), Fault> {
    execute(db, "SET LOCAL idle_in_transaction_session_timeout = 2000").await?;
    lock::change_log_on(db).await
}

/// Writes entries to the change log, whose lock is held; returns their positions, in order.
pub(super) async fn append_changes_on(mut db: &Db, changes: Vec<Change>) -> Result<Vec<i64>, Fault> {
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let parts = |change: Change| (change.parts().0, change.parts().1.uuid());
    let (kinds, subjects): (Vec<_>, Vec<_>) = changes.into_iter().map(parts).unzip();
    let append =
        statement::<BigInt>(APPEND).bind::<Array<Text>, _>(kinds).bind::<Array<SqlUuid>, _>(subjects);
    let mut positions = append.load::<i64>(&mut db).await?;
    positions.sort_unstable();
    Ok(positions)
}

pub(super) async fn register_on(
    mut db: &Db,
    node: NodeId,
    changes: &[PresenceChange],
    claims: &[AgentClaim],
) -> Result<Registered, Fault> {
    alone_on(db).await?;
    let is_node = statement::<Bool>(IS_NODE).bind::<SqlUuid, _>(node.uuid());
    if !is_node.get_result::<bool>(&mut db).await? {
        return Ok(Registered::Cleared);
    }
    let moved = record_presence(db, node, changes).await?;
    let decided = decide_on(db, node, claims).await?;
    let is_granted = |(_, granted): &(&AgentClaim, &bool)| **granted;
    let granted = claims.iter().zip(&decided).filter(is_granted).map(|(claim, _)| claim.agent);
    let granted = granted.collect::<Vec<_>>();
    let claimed = granted.iter().map(|agent| Change::ConnectionsChanged(ParticipantId::Agent(*agent)));
    let moved_count = moved.len();
    let positions =
        append_changes_on(db, moved.into_iter().map(Change::ConnectionsChanged).chain(claimed).collect())
            .await?;
    let mut numbers = positions.into_iter().skip(moved_count).map(SocketNumber);
    let answers = decided.into_iter().map(|granted| if granted { numbers.next() } else { None });
    let answers = answers.collect::<Vec<Granted>>();
    take_on(db, node, claims, &answers).await?;
    Ok(Registered::Done(answers))
}

/// Writes the changes; returns the users and agents whose connections have changed.
async fn record_presence(
    db: &Db,
    node: NodeId,
    changes: &[PresenceChange],
) -> Result<Vec<ParticipantId>, Fault> {
    let (mut came, mut went, mut lost, mut gone) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for presence in changes {
        match presence {
            PresenceChange::UserConnected(user) => came.push(user.uuid()),
            PresenceChange::UserDisconnected(user) => went.push(user.uuid()),
            PresenceChange::AgentLost(agent) => lost.push(agent.uuid()),
            PresenceChange::AgentDisconnected(agent) => gone.push(agent.uuid()),
        }
    }
    let user = |id| ParticipantId::User(UserId::new(id));
    let agent = |id| ParticipantId::Agent(AgentId::new(id));
    let mut moved = Vec::new();
    moved.extend(of_on(db, USERS_CAME, node, came).await?.into_iter().map(user));
    moved.extend(of_on(db, USERS_WENT, node, went).await?.into_iter().map(user));
    if !lost.is_empty() {
        let mark = statement::<()>(AGENTS_LOST).bind::<SqlUuid, _>(node.uuid());
        let mut db = db;
        mark.bind::<Array<SqlUuid>, _>(lost).execute(&mut db).await?;
    }
    moved.extend(of_on(db, AGENTS_WENT, node, gone).await?.into_iter().map(agent));
    Ok(moved)
}

/// Runs a statement on several users or agents of a node; returns those that it changed.
async fn of_on(mut db: &Db, text: &'static str, node: NodeId, ids: Vec<Uuid>) -> Result<Vec<Uuid>, Fault> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let say = statement::<SqlUuid>(text).bind::<SqlUuid, _>(node.uuid()).bind::<Array<SqlUuid>, _>(ids);
    Ok(say.load::<Uuid>(&mut db).await?)
}

/// Decides which claims are granted, each as if those before it were written.
async fn decide_on(mut db: &Db, node: NodeId, claims: &[AgentClaim]) -> Result<Vec<bool>, Fault> {
    if claims.is_empty() {
        return Ok(Vec::new());
    }
    let agents = claims.iter().map(|claim| claim.agent.uuid()).collect::<Vec<_>>();
    let rows = statement::<(SqlUuid, SqlUuid, Bool)>(HOLDERS).bind::<Array<SqlUuid>, _>(agents);
    let rows = rows.load::<(Uuid, Uuid, bool)>(&mut db).await?;
    let holder = |(agent, node, is_open)| (AgentId::new(agent), Holder { node: NodeId::new(node), is_open });
    let mut holders = rows.into_iter().map(holder).collect::<HashMap<_, _>>();
    let decide = |claim: &AgentClaim| {
        let is_granted = claim.claiming.is_granted(node, holders.get(&claim.agent).copied());
        if is_granted {
            holders.insert(claim.agent, Holder { node, is_open: true });
        }
        is_granted
    };
    Ok(claims.iter().map(decide).collect())
}

/// Writes the new holders: for each agent, the last granted claim.
async fn take_on(mut db: &Db, node: NodeId, claims: &[AgentClaim], answers: &[Granted]) -> Result<(), Fault> {
    let taken = claims.iter().zip(answers).filter_map(|(claim, number)| Some((claim.agent, (*number)?)));
    let taken = taken.collect::<HashMap<_, _>>();
    if taken.is_empty() {
        return Ok(());
    }
    let (agents, numbers): (Vec<_>, Vec<_>) =
        taken.into_iter().map(|(agent, SocketNumber(number))| (agent.uuid(), number)).unzip();
    statement::<()>(TAKE)
        .bind::<SqlUuid, _>(node.uuid())
        .bind::<Array<SqlUuid>, _>(agents)
        .bind::<Array<BigInt>, _>(numbers)
        .execute(&mut db)
        .await?;
    Ok(())
}
