//! The causes of new messages: the open attempts of their senders. Their traces and origins depend on them.
//!
//! A batch may be decided on cached chats, so the statement that writes the messages finds their causes itself. The rule
//! is [`Cause::of_attempts`].

use std::collections::HashMap;
use std::sync::LazyLock;

use diesel::sql_types::{Array, Bool, Integer, Nullable, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::foreign::Origin;
use domain::id::{AgentId, ChatId};
use domain::message::{Cause, EXAMINED_DELIVERIES, TraceParent};
use uuid::Uuid;

use super::row::status::PROCESSING;
use super::row::{CauseColumns, origin};
use crate::error::Fault;
use crate::run::Db;
use crate::statement::statement;

/// The largest hop of a cause: one more is the largest of the column.
const MAX_HOP: i32 = i32::MAX - 1;

/// The text of [`COLUMNS`].
macro_rules! cause_columns {
    () => {
        "cause_id, root_id, hop, originator_id, originator_kind, ambiguous_cause, traceparent, foreign_origin"
    };
}
pub(super) use cause_columns;

/// The columns of a [`CauseColumns`], and the one of the origin.
pub(super) const COLUMNS: &str = cause_columns!();

/// The SQL types of a [`CauseColumns`].
pub(crate) type CauseTypes = (
    Nullable<SqlUuid>,
    Nullable<SqlUuid>,
    Nullable<Integer>,
    Nullable<SqlUuid>,
    Nullable<Text>,
    Nullable<Bool>,
    Nullable<Text>,
);

/// The SQL types of [`COLUMNS`].
pub(super) type Types = (CauseTypes, Nullable<Bool>);

/// The values of [`COLUMNS`].
pub(super) type Columns = (CauseColumns, Option<bool>);

/// The causes of messages by their ids, with their places in a trace, and their origins.
pub(super) type Causes = HashMap<Uuid, (Cause, Option<TraceParent>, Origin)>;

/// The columns of the cause of `new`, a new message, by its sender's attempts; `traceparent` is that of the cause. Last,
/// whether one of the attempts is on a message that is foreign to its chat. All are null, or false, unless attempts count
/// ([`counts_attempts`](domain::message::NewMessage::counts_attempts)).
pub(super) static OF_ATTEMPTS: LazyLock<String> = LazyLock::new(|| {
    let examined = |is_open: &str, is_here: &str, place: &str, order: &str| {
        format!(
            "SELECT deliveries.chat_id, deliveries.sequence, {is_open} AS is_open, {is_here} AS is_here \
             FROM deliveries WHERE new.counts_attempts AND deliveries.agent_id = new.sender_id{place} \
             AND deliveries.processed_at IS NULL AND deliveries.dead_at IS NULL AND deliveries.current_attempt > 0{order} \
             LIMIT {EXAMINED_DELIVERIES}"
        )
    };
    let newest = " ORDER BY deliveries.sequence DESC";
    let here = examined(PROCESSING, "TRUE", " AND deliveries.chat_id = new.chat_id", newest);
    let is_open_elsewhere = format!(
        "{PROCESSING} AND coalesce((SELECT 1 = 1 FROM participants JOIN chats ON chats.id = participants.chat_id \
         WHERE participants.chat_id = deliveries.chat_id AND participants.participant_id = deliveries.agent_id \
         AND participants.left_at IS NULL AND chats.deleted_at IS NULL AND chats.organization_id IS NOT DISTINCT FROM \
         (SELECT organization_id FROM chats AS own WHERE own.id = new.chat_id) LIMIT 1), 1 = 0)"
    );
    let unless_here = format!(
        " AND deliveries.chat_id <> new.chat_id AND (SELECT count(*) < {EXAMINED_DELIVERIES} FROM here) \
         AND NOT EXISTS (SELECT FROM here WHERE here.is_open)"
    );
    let elsewhere = examined(&is_open_elsewhere, "FALSE", &unless_here, "");
    let one = |column: &str| {
        format!("(array_agg(place.{column}) FILTER (WHERE place.id IS NOT NULL))[1] AS {column}")
    };
    let clear = |column: &str| format!("CASE WHEN open = 1 AND is_complete THEN {column} END AS {column}");
    format!(
        "WITH here AS MATERIALIZED ({here}) SELECT {clear_cause}, {clear_root}, \
         CASE WHEN open > 0 OR NOT is_complete THEN coalesce(hop, 0) END AS hop, \
         {clear_originator}, {clear_kind}, CASE WHEN open > 1 OR NOT is_complete THEN TRUE END AS ambiguous_cause, \
         {clear_trace}, coalesce(is_foreign, FALSE) AS is_foreign \
         FROM (SELECT {one_cause}, {one_root}, max(place.hop) AS hop, {one_originator}, \
         max(place.originator_kind) AS originator_kind, max(place.traceparent) AS traceparent, \
         bool_or(place.is_foreign) AS is_foreign, \
         count(place.id) AS open, \
         count(*) < {EXAMINED_DELIVERIES} OR coalesce(bool_or(is_here AND is_open), FALSE) AS is_complete \
         FROM (SELECT * FROM here UNION ALL ({elsewhere})) AS examined LEFT JOIN LATERAL (\
         SELECT id, id AS cause_id, coalesce(root_id, id) AS root_id, least(coalesce(hop, 0), {MAX_HOP}) + 1 AS hop, \
         coalesce(originator_id, sender_id) AS originator_id, coalesce(originator_kind, sender_kind) AS originator_kind, \
         traceparent, foreign_origin IS NOT NULL AS is_foreign \
         FROM messages WHERE messages.chat_id = examined.chat_id AND messages.sequence = examined.sequence OFFSET 0\
         ) AS place ON examined.is_open) AS attempts",
        clear_cause = clear("cause_id"),
        clear_root = clear("root_id"),
        clear_originator = clear("originator_id"),
        clear_kind = clear("originator_kind"),
        clear_trace = clear("traceparent"),
        one_cause = one("cause_id"),
        one_root = one("root_id"),
        one_originator = one("originator_id"),
    )
});

/// The cause of a message that an agent sends. The values are the agent and the chat.
static OF_AGENT: LazyLock<String> = LazyLock::new(|| {
    let of_attempts = &*OF_ATTEMPTS;
    format!(
        "SELECT found.* FROM (SELECT CAST(? AS uuid) AS sender_id, CAST(? AS uuid) AS chat_id, TRUE AS counts_attempts) AS new \
         CROSS JOIN LATERAL ({of_attempts}) AS found"
    )
});

/// The cause of a message that `agent`, which is in the chat, sends there; the place of the cause in a trace; and whether it
/// may be foreign to the chat.
pub(crate) async fn of_attempts_on(
    mut db: &Db,
    agent: AgentId,
    chat: ChatId,
) -> Result<(Cause, Option<TraceParent>, bool), Fault> {
    let found = statement::<(CauseTypes, Bool)>(OF_AGENT.as_str())
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<SqlUuid, _>(chat.uuid());
    let (columns, is_foreign) = found.get_result::<(CauseColumns, bool)>(&mut db).await?;
    let traceparent = columns.traceparent()?;
    Ok((columns.into_cause()?, traceparent, is_foreign))
}

/// The causes of those of these messages that are stored.
pub(super) async fn stored_on(mut db: &Db, messages: Vec<Uuid>) -> Result<Causes, Fault> {
    let stored =
        statement::<(SqlUuid, Types)>(format!("SELECT id, {COLUMNS} FROM messages WHERE id = ANY(?)"));
    let stored = stored.bind::<Array<SqlUuid>, _>(messages).load::<(Uuid, Columns)>(&mut db).await?;
    by_message(stored)
}

pub(super) fn by_message(rows: impl IntoIterator<Item = (Uuid, Columns)>) -> Result<Causes, Fault> {
    let place = |(id, (columns, foreign)): (_, Columns)| {
        let traceparent = columns.traceparent()?;
        Ok((id, (columns.into_cause()?, traceparent, origin(foreign))))
    };
    rows.into_iter().map(place).collect()
}
