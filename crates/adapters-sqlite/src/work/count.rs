//! Numbers of work items. Every part is read along its index, so what is processed is not read, but for the
//! newest in each chat of an agent.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Integer, Text};
use diesel::sqlite::SqliteConnection;
use domain::id::AgentId;
use domain::work::{AgentWork, FlagBounds, WorkPart, WorkTotals};

use super::list::open;
use super::row::{AgentSums, BOUNDS, COUNTED, FLAGGED, SUMS, Sums, counts, failing, work_of};
use crate::error::Fault;
use crate::row::{self, At, Id};

/// The counted items of the agents of a condition on `deliveries`, with `agent_id` and `started_at`. Values:
/// those of [`BOUNDS`].
fn counted(of: &str) -> String {
    let part = |part| {
        format!(
            "SELECT agent_id, chat_id, sequence, current_attempt, delivered_at, started_at, failed_at, dead_at, \
             restarted_after, restarted_at, held_by {} AND {}",
            open(part, of),
            counts(part),
        )
    };
    let parts = [WorkPart::Waiting, WorkPart::Begun, WorkPart::Dead].map(part).join(" UNION ALL ");
    format!(
        "SELECT deliveries.agent_id AS agent_id, deliveries.started_at AS started_at, {} \
         FROM ({parts}) AS deliveries \
         CROSS JOIN participants ON participants.chat_id = deliveries.chat_id \
             AND participants.participant_id = deliveries.agent_id AND participants.left_at IS NULL \
         CROSS JOIN chats ON chats.id = deliveries.chat_id AND chats.deleted_at IS NULL \
         CROSS JOIN messages INDEXED BY messages_order ON messages.chat_id = deliveries.chat_id \
             AND messages.sequence = deliveries.sequence \
         CROSS JOIN {BOUNDS}",
        COUNTED.as_str(),
    )
}

pub(super) fn count_on(connection: &mut SqliteConnection, flags: FlagBounds) -> Result<WorkTotals, Fault> {
    let sums = diesel::sql_query(format!("SELECT state, {SUMS} FROM ({}) GROUP BY state", counted("TRUE")))
        .bind::<BigInt, _>(At(flags.unanswered))
        .bind::<BigInt, _>(At(flags.stuck))
        .bind::<Integer, _>(failing(flags));
    let mut totals = WorkTotals::default();
    for sums in sums.load::<Sums>(connection)? {
        sums.add_to(&mut totals)?;
    }
    Ok(totals)
}

#[derive(QueryableByName)]
struct Flagged {
    #[diesel(sql_type = Binary)]
    agent_id: Id,
}

pub(super) fn flagged_agents_on(
    connection: &mut SqliteConnection,
    after: Option<AgentId>,
    limit: u32,
    flags: FlagBounds,
) -> Result<Vec<AgentId>, Fault> {
    let items = counted("deliveries.agent_id > ?");
    // One condition for each part.
    let after = Id(after.unwrap_or(AgentId::NIL).uuid());
    let rows = diesel::sql_query(format!(
        "SELECT DISTINCT agent_id FROM ({items}) WHERE {FLAGGED} ORDER BY agent_id LIMIT ?"
    ))
    .bind::<Binary, _>(after)
    .bind::<Binary, _>(after)
    .bind::<Binary, _>(after)
    .bind::<BigInt, _>(At(flags.unanswered))
    .bind::<BigInt, _>(At(flags.stuck))
    .bind::<Integer, _>(failing(flags))
    .bind::<BigInt, _>(i64::from(limit));
    let rows = rows.load::<Flagged>(connection)?;
    Ok(rows.into_iter().map(|Flagged { agent_id: Id(agent) }| AgentId::new(agent)).collect())
}

pub(super) fn work_of_agents_on(
    connection: &mut SqliteConnection,
    agents: &[AgentId],
    flags: FlagBounds,
) -> Result<Vec<AgentWork>, Fault> {
    let rows = diesel::sql_query(format!(
        "WITH wanted (agent_id) AS MATERIALIZED (SELECT unhex(value) FROM json_each(?)), \
         counted AS MATERIALIZED (SELECT agent_id, state, max(started_at) AS begun_at, {SUMS} FROM ({}) \
             GROUP BY agent_id, state), \
         done AS MATERIALIZED (\
             SELECT wanted.agent_id AS agent_id, max(deliveries.started_at) AS begun_at, \
                 max(deliveries.processed_at) AS done_at \
             FROM wanted CROSS JOIN participants INDEXED BY participants_rooms \
                 ON participants.participant_id = wanted.agent_id AND participants.left_at IS NULL \
             CROSS JOIN deliveries ON deliveries.agent_id = wanted.agent_id \
                 AND deliveries.chat_id = participants.chat_id AND deliveries.sequence = (\
                     SELECT newest.sequence FROM deliveries AS newest WHERE newest.agent_id = wanted.agent_id \
                     AND newest.chat_id = participants.chat_id AND newest.processed_at IS NOT NULL \
                     ORDER BY newest.sequence DESC LIMIT 1) \
             GROUP BY wanted.agent_id) \
         SELECT wanted.agent_id AS agent_id, \
             (SELECT max(api_keys.last_used_at) FROM api_keys WHERE api_keys.agent_id = wanted.agent_id) AS seen_at, \
             agents.disconnected_at AS disconnected_at, agents.disconnect_reason AS disconnect_reason, \
             NULL AS is_connected, done.begun_at AS done_begun_at, done.done_at AS done_at, {} \
         FROM wanted LEFT JOIN agents ON agents.id = wanted.agent_id LEFT JOIN done ON done.agent_id = wanted.agent_id \
         LEFT JOIN counted ON counted.agent_id = wanted.agent_id",
        counted("deliveries.agent_id IN (SELECT agent_id FROM wanted)"),
        AgentSums::columns(),
    ));
    let wanted = agents.iter().map(|agent| Id(agent.uuid()).hex()).collect::<Vec<_>>();
    let rows = rows
        .bind::<Text, _>(row::to_json(&wanted)?)
        .bind::<BigInt, _>(At(flags.unanswered))
        .bind::<BigInt, _>(At(flags.stuck))
        .bind::<Integer, _>(failing(flags))
        .load(connection)?;
    work_of(agents, rows)
}
