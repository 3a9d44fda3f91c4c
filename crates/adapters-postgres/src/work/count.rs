//! Numbers of work items. Every part is read along its index, so what is processed is not read, but for the
//! newest in each chat of an agent.

use std::sync::LazyLock;

use diesel::sql_types::{Array, BigInt, Bool, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::AgentId;
use domain::work::{AgentWork, FlagBounds, WorkPart, WorkTotals};

use super::list::indexed;
use super::row::{AgentSums, BOUNDS, COUNTED, FLAGGED, SUMS, Sums, counts, failing, work_of};
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::statement::statement;
use uuid::Uuid;

/// The counted items of the agents of a condition on `deliveries`, with `agent_id` and `started_at`. Values: those of
/// [`BOUNDS`].
fn counted(of: &str) -> String {
    let part = |part| {
        let (indexed, counts) = (indexed(part), counts(part));
        format!("SELECT deliveries.* FROM deliveries WHERE {of} AND {indexed} AND {counts}")
    };
    let parts = [WorkPart::Waiting, WorkPart::Begun, WorkPart::Dead].map(part).join(" UNION ALL ");
    format!(
        "SELECT deliveries.agent_id, deliveries.started_at, {} FROM ({parts}) AS deliveries \
         CROSS JOIN LATERAL (SELECT 1 FROM participants JOIN chats ON chats.id = participants.chat_id \
             WHERE participants.chat_id = deliveries.chat_id AND participants.participant_id = deliveries.agent_id \
             AND participants.left_at IS NULL AND chats.deleted_at IS NULL OFFSET 0) AS membership \
         CROSS JOIN LATERAL (SELECT messages.created_at FROM messages WHERE messages.chat_id = deliveries.chat_id \
             AND messages.sequence = deliveries.sequence OFFSET 0) AS messages \
         CROSS JOIN {BOUNDS}",
        COUNTED.as_str(),
    )
}

static TOTALS: LazyLock<String> =
    LazyLock::new(|| format!("SELECT state, {SUMS} FROM ({}) AS items GROUP BY state", counted("TRUE")));

/// The SQL types of [`Sums`].
type SumsColumns = (Text, BigInt, Nullable<Timestamptz>, BigInt, BigInt, BigInt);

pub(super) async fn count_on(mut db: &Db, flags: FlagBounds) -> Result<WorkTotals, Fault> {
    let sums = statement::<SumsColumns>(TOTALS.as_str())
        .bind::<Timestamptz, _>(At(flags.unanswered))
        .bind::<Timestamptz, _>(At(flags.stuck))
        .bind::<Integer, _>(failing(flags));
    let mut totals = WorkTotals::default();
    for sums in sums.load::<Sums>(&mut db).await? {
        sums.add_to(&mut totals)?;
    }
    Ok(totals)
}

static FLAGGED_AGENTS: LazyLock<String> = LazyLock::new(|| {
    let items = counted("deliveries.agent_id > ?");
    format!("SELECT DISTINCT agent_id FROM ({items}) AS items WHERE {FLAGGED} ORDER BY agent_id LIMIT ?")
});

pub(super) async fn flagged_agents_on(
    mut db: &Db,
    after: Option<AgentId>,
    limit: u32,
    flags: FlagBounds,
) -> Result<Vec<AgentId>, Fault> {
    // One condition for each part.
    let after = after.unwrap_or(AgentId::NIL).uuid();
    let rows = statement::<(SqlUuid,)>(FLAGGED_AGENTS.as_str())
        .bind::<SqlUuid, _>(after)
        .bind::<SqlUuid, _>(after)
        .bind::<SqlUuid, _>(after)
        .bind::<Timestamptz, _>(At(flags.unanswered))
        .bind::<Timestamptz, _>(At(flags.stuck))
        .bind::<Integer, _>(failing(flags))
        .bind::<BigInt, _>(i64::from(limit));
    let rows = rows.load::<(Uuid,)>(&mut db).await?;
    Ok(rows.into_iter().map(|(agent,)| AgentId::new(agent)).collect())
}

/// Of the servers of a cluster, one that lives knows which agents are connected. Its lease is judged by the clock of
/// the database.
static OF_AGENTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT wanted.agent_id, \
             CASE WHEN EXISTS (SELECT 1 FROM nodes WHERE ended_at IS NULL AND lease_until > clock_timestamp()) \
             THEN EXISTS (SELECT 1 FROM agent_sockets JOIN nodes ON nodes.id = agent_sockets.node_id \
                 WHERE agent_sockets.agent_id = wanted.agent_id AND agent_sockets.lost_at IS NULL \
                 AND nodes.ended_at IS NULL AND nodes.lease_until > clock_timestamp()) END, \
             (SELECT max(api_keys.last_used_at) FROM api_keys WHERE api_keys.agent_id = wanted.agent_id), \
             agents.disconnected_at, agents.disconnect_reason, done.started_at, done.processed_at, {} \
         FROM unnest(?) AS wanted (agent_id) LEFT JOIN agents ON agents.id = wanted.agent_id \
         LEFT JOIN LATERAL (SELECT state, max(started_at) AS begun_at, {SUMS} FROM ({}) AS items GROUP BY state) \
             AS counted ON TRUE \
         CROSS JOIN LATERAL (SELECT max(newest.started_at) AS started_at, max(newest.processed_at) AS processed_at \
             FROM participants CROSS JOIN LATERAL (\
                 SELECT deliveries.started_at, deliveries.processed_at FROM deliveries \
                 WHERE deliveries.agent_id = participants.participant_id \
                 AND deliveries.chat_id = participants.chat_id AND deliveries.processed_at IS NOT NULL \
                 ORDER BY deliveries.sequence DESC LIMIT 1) AS newest \
             WHERE participants.participant_id = wanted.agent_id AND participants.left_at IS NULL) AS done",
        AgentSums::columns(),
        counted("deliveries.agent_id = wanted.agent_id"),
    )
});

/// The SQL types of [`AgentSums`].
type AgentColumns = (
    SqlUuid,
    Nullable<Bool>,
    Nullable<Timestamptz>,
    Nullable<Timestamptz>,
    Nullable<Text>,
    Nullable<Timestamptz>,
    Nullable<Timestamptz>,
    Nullable<Timestamptz>,
    Nullable<Text>,
    BigInt,
    Nullable<Timestamptz>,
    BigInt,
    BigInt,
    BigInt,
);

pub(super) async fn work_of_agents_on(
    mut db: &Db,
    agents: &[AgentId],
    flags: FlagBounds,
) -> Result<Vec<AgentWork>, Fault> {
    // In the order of the text.
    let rows = statement::<AgentColumns>(OF_AGENTS.as_str())
        .bind::<Array<SqlUuid>, _>(agents.iter().map(|agent| agent.uuid()).collect::<Vec<_>>())
        .bind::<Timestamptz, _>(At(flags.unanswered))
        .bind::<Timestamptz, _>(At(flags.stuck))
        .bind::<Integer, _>(failing(flags));
    work_of(agents, rows.load(&mut db).await?)
}
