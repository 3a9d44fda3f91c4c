//! Numbers of open work by agent, state, and error.
//!
//! As a page of work, a summary skips along the index of a part from chat to chat, and examines the oldest
//! deliveries of each agent in each chat, up to a number of all.

use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::organization::NotAdmin;
use domain::work::{EXAMINED_PER_QUEUE, FlagBounds, SUMMARIZED_PER_PART, WorkCounts, WorkPart, WorkSearch};

use super::check_on;
use super::list::{MEMBERSHIP, bind_conditions, bind_queues, conditions, indexed, queues};
use super::row::{BOUNDS, COUNTED, CountedRow, SUMS, add_counted, examined, failing, summarized_error};
use crate::error::Fault;
use crate::row::{At, can_be_stored};
use crate::run::Db;
use crate::statement::statement;

/// The SQL types of [`CountedRow`].
type CountedColumns = (
    Bool,
    Nullable<SqlUuid>,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Text>,
    BigInt,
    Nullable<Timestamptz>,
    BigInt,
    BigInt,
    BigInt,
);

pub(super) async fn summarize_on(
    mut db: &Db,
    search: &WorkSearch,
    flags: FlagBounds,
) -> Result<Result<WorkCounts, NotAdmin>, Fault> {
    if let Err(refused) = check_on(db, search.scope).await? {
        return Ok(Err(refused));
    }
    let mut counts = WorkCounts::default();
    if !search.error.as_ref().is_none_or(|text| can_be_stored(text)) {
        return Ok(Ok(counts));
    }
    for part in search.parts() {
        let query = bind_queues(statement::<CountedColumns>(counted(search, part)), search)
            .bind::<Timestamptz, _>(At(flags.unanswered))
            .bind::<Timestamptz, _>(At(flags.stuck))
            .bind::<Integer, _>(failing(flags));
        let rows = bind_conditions(query, search).load::<CountedRow>(&mut db).await?;
        add_counted(&mut counts, rows)?;
    }
    Ok(Ok(counts))
}

/// The counted items of a part. Values: those of [`queues`], of [`BOUNDS`], and of [`conditions`].
fn counted(search: &WorkSearch, part: WorkPart) -> String {
    format!(
        "{}, examined AS MATERIALIZED (SELECT deliveries.* FROM queues {MEMBERSHIP} \
             CROSS JOIN LATERAL (SELECT * FROM deliveries WHERE deliveries.agent_id = queues.agent_id \
                 AND deliveries.chat_id = queues.chat_id AND {} AND {} \
                 ORDER BY deliveries.sequence LIMIT {EXAMINED_PER_QUEUE}) AS deliveries \
             LIMIT {SUMMARIZED_PER_PART}), \
         counted AS (SELECT agent_id, state, error, {SUMS} FROM (\
             SELECT deliveries.agent_id, {} AS error, {} FROM examined AS deliveries \
             CROSS JOIN LATERAL (SELECT messages.id, messages.root_id, messages.created_at FROM messages \
                 WHERE messages.chat_id = deliveries.chat_id AND messages.sequence = deliveries.sequence OFFSET 0) \
                 AS messages \
             CROSS JOIN {BOUNDS} WHERE {}) AS items GROUP BY agent_id, state, error) {}",
        queues(search, part),
        indexed(part),
        examined(part, search),
        summarized_error(part, search),
        COUNTED.as_str(),
        conditions(part),
        CountedRow::select(),
    )
}
