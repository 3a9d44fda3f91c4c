//! Numbers of open work by agent, state, and error.
//!
//! As a page of work, a summary skips along the index of a part from chat to chat, and examines the oldest
//! deliveries of each agent in each chat, up to a number of all.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer};
use diesel::sqlite::SqliteConnection;
use domain::organization::NotAdmin;
use domain::work::{EXAMINED_PER_QUEUE, FlagBounds, SUMMARIZED_PER_PART, WorkCounts, WorkPart, WorkSearch};

use super::check_on;
use super::list::{MEMBERSHIP, bind_conditions, bind_queues, conditions, open, queues};
use super::row::{BOUNDS, COUNTED, CountedRow, SUMS, add_counted, examined, failing, summarized_error};
use crate::error::Fault;
use crate::row::At;

pub(super) fn summarize_on(
    connection: &mut SqliteConnection,
    search: &WorkSearch,
    flags: FlagBounds,
) -> Result<Result<WorkCounts, NotAdmin>, Fault> {
    if let Err(refused) = check_on(connection, search.scope)? {
        return Ok(Err(refused));
    }
    let mut counts = WorkCounts::default();
    for part in search.parts() {
        let query = bind_queues(diesel::sql_query(counted(search, part)).into_boxed(), search);
        let query = query
            .bind::<BigInt, _>(At(flags.unanswered))
            .bind::<BigInt, _>(At(flags.stuck))
            .bind::<Integer, _>(failing(flags));
        add_counted(&mut counts, bind_conditions(query, search).load::<CountedRow>(connection)?)?;
    }
    Ok(Ok(counts))
}

/// The counted items of a part. Values: those of [`queues`], of [`BOUNDS`], and of [`conditions`].
fn counted(search: &WorkSearch, part: WorkPart) -> String {
    let queue = "deliveries.agent_id = queues.agent_id AND deliveries.chat_id = queues.chat_id";
    format!(
        "{}, examined AS MATERIALIZED (\
             SELECT deliveries.agent_id, deliveries.chat_id, deliveries.sequence, deliveries.current_attempt, \
                 deliveries.delivered_at, deliveries.started_at, deliveries.failed_at, deliveries.error, \
                 deliveries.dead_at, deliveries.restarted_after, deliveries.restarted_at, deliveries.held_by \
             FROM queues {MEMBERSHIP} CROSS JOIN deliveries ON {queue} AND deliveries.sequence IN (\
                 SELECT deliveries.sequence {} AND {} ORDER BY deliveries.sequence LIMIT {EXAMINED_PER_QUEUE}) \
             LIMIT {SUMMARIZED_PER_PART}), \
         counted AS (SELECT agent_id, state, error, {SUMS} FROM (\
             SELECT deliveries.agent_id AS agent_id, {} AS error, {} \
             FROM examined AS deliveries CROSS JOIN messages INDEXED BY messages_order \
                 ON messages.chat_id = deliveries.chat_id AND messages.sequence = deliveries.sequence \
             CROSS JOIN {BOUNDS} WHERE {}) GROUP BY agent_id, state, error) {}",
        queues(search, part),
        open(part, queue),
        examined(part, search),
        summarized_error(part, search),
        COUNTED.as_str(),
        conditions(part),
        CountedRow::select(),
    )
}
