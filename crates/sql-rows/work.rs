//! Work as rows. Compiled into each store, whose tables it names.

use std::collections::HashMap;
use std::sync::LazyLock;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use domain::account::{AgentKind, LastDisconnect};
use domain::delivery::{Attempt, DeliveryStatus};
use domain::id::{AgentId, ChatId, MessageId, Sequence, UserId};
use domain::page::weight;
use domain::work::{
    AgentWork, CountedWork, EXAMINED_PER_QUEUE, FlagBounds, SUMMARIZED_ERROR_CHARS, SUMMARIZED_PER_PART,
    StateTotals, WorkAgent, WorkCounts, WorkItem, WorkPart, WorkScope, WorkSearch, WorkTotals,
};
use uuid::Uuid;

use crate::error::Fault;
use crate::message::row::{DeliveryRow, is_shown, status, stored_mentions};
use crate::row::{self, At, AtType, Id, IdType};

/// The approximate size of an item in an answer, without its record and its text.
const ITEM_BYTES: usize = 600;

/// A row of `deliveries` with its agent, chat, and message.
#[derive(Queryable)]
pub(crate) struct ItemRow {
    record: DeliveryRow,
    handle: String,
    name: String,
    agent_kind: String,
    disconnected_at: Option<At>,
    disconnect_reason: Option<String>,
    chat_id: Id,
    title: Option<String>,
    /// Set if the reader may read the chat.
    is_readable: bool,
    /// Set if the chat counts towards the organization of the scope.
    is_of_organization: bool,
    message_id: Id,
    sequence: i64,
    sender_id: Id,
    sender_kind: String,
    sender_name: String,
    created_at: At,
    respond_by: Option<At>,
    text: String,
    mentions: String,
    is_stopped: bool,
    is_paused: bool,
}

impl ItemRow {
    /// The columns between the record and [`STOPPED_AND_PAUSED`](crate::control::row::STOPPED_AND_PAUSED). Values: [`reader`], [`organization`], and the number of
    /// characters that are shown.
    pub(crate) const COLUMNS: &'static str = "agents.handle, agents.name, agents.kind, \
         agents.disconnected_at, agents.disconnect_reason, chats.id, chats.title, \
         coalesce((SELECT 1 = 1 FROM participants WHERE participants.chat_id = chats.id \
             AND participants.account_id = ? AND participants.left_at IS NULL LIMIT 1), 1 = 0), \
         coalesce(chats.organization_id = ?, 1 = 0), messages.id, messages.sequence, messages.sender_id, \
         messages.sender_kind, messages.sender_name, messages.created_at, messages.respond_by, \
         substr(messages.content, 1, ?), messages.mentions";

    /// Its key: agent, chat, and sequence.
    pub(crate) const fn key(&self) -> (Uuid, Uuid, i64) {
        (self.record.agent_id.0, self.chat_id.0, self.sequence)
    }

    /// The approximate size in an answer.
    pub(crate) fn weight(&self) -> usize {
        ITEM_BYTES + self.record.weight() + self.mentions.len() + weight::of_text(&self.text)
    }

    /// As [`DeliveryRow::earlier_after`].
    pub(crate) fn earlier_after(&self) -> Option<i32> {
        self.record.earlier_after()
    }

    /// Converts it; `attempts` are the earlier ones, oldest first.
    pub(crate) fn into_item(self, scope: WorkScope, attempts: Vec<Attempt>) -> Result<WorkItem, Fault> {
        let shows_title = self.is_readable || self.is_of_organization || scope == WorkScope::Everything;
        let agent = WorkAgent {
            id: AgentId::new(self.record.agent_id.0),
            handle: self.handle,
            name: self.name,
            is_external: row::word(&self.agent_kind, AgentKind::parse)?.is_external(),
            disconnect: disconnect(self.disconnected_at, self.disconnect_reason.as_deref()),
            is_stopped: self.is_stopped,
            is_paused: self.is_paused,
        };
        Ok(WorkItem {
            agent,
            chat: ChatId::new(self.chat_id.0),
            title: self.title.filter(|_| shows_title),
            message: MessageId::new(self.message_id.0),
            sequence: Sequence::new(self.sequence),
            sender: row::participant_id(&self.sender_kind, self.sender_id.0)?,
            sender_name: self.sender_name,
            written_at: self.created_at.0,
            respond_by: self.respond_by.map(|by| by.0),
            mentions: if self.is_readable { stored_mentions(&self.mentions)? } else { Vec::new() },
            text: self.is_readable.then_some(self.text),
            delivery: self.record.into_delivery(attempts)?,
        })
    }
}

/// The end of an agent's last socket.
fn disconnect(at: Option<At>, reason: Option<&str>) -> Option<LastDisconnect> {
    LastDisconnect::of(at.map(|At(at)| at), reason)
}

/// Whether a message that replaces an item still stands: it is there, and its agent is in the chat or has processed
/// it. Value: its id.
pub(crate) const REPLACEMENT_STANDS: &str = "SELECT count(*) FROM (SELECT 1 FROM messages \
     CROSS JOIN participants CROSS JOIN deliveries \
     WHERE messages.id = ? AND participants.chat_id = messages.chat_id AND participants.kind = 'Agent' \
     AND deliveries.agent_id = participants.participant_id AND deliveries.chat_id = messages.chat_id \
     AND deliveries.sequence = messages.sequence AND deliveries.addressed \
     AND (participants.left_at IS NULL OR deliveries.processed_at IS NOT NULL) LIMIT 1) AS found";

/// The organization of a scope; nil if it has none.
pub(crate) fn organization(scope: WorkScope) -> Id {
    match scope {
        WorkScope::Of(by) => Id(by.organization().uuid()),
        WorkScope::Everything | WorkScope::OwnedBy(_) | WorkScope::SentBy(_) => Id(Uuid::nil()),
    }
}

/// The account of the reader; nil for the operator.
pub(crate) fn reader(scope: WorkScope) -> Id {
    Id(scope.reader().map_or(Uuid::nil(), UserId::uuid))
}

/// FROM and WHERE of the agents of a scope. Value: [`account`], unless it is that of the operator.
pub(crate) const fn agents(scope: WorkScope) -> &'static str {
    match scope {
        WorkScope::Everything => "FROM agents WHERE agents.deleted_at IS NULL",
        WorkScope::OwnedBy(_) => "FROM agents WHERE agents.owner_id = ? AND agents.deleted_at IS NULL",
        WorkScope::Of(_) => {
            "FROM users CROSS JOIN agents WHERE users.organization_id = ? AND users.deleted_at IS NULL \
             AND agents.owner_id = users.id AND agents.deleted_at IS NULL"
        }
        // Nothing is listed for a sender.
        WorkScope::SentBy(_) => "FROM agents WHERE agents.id = ? AND 1 = 0",
    }
}

/// Whether the scope contains the item of a row of `messages`, `participants`, and `chats`. Values: [`account`], unless it is
/// that of the operator, and the agent.
pub(crate) fn authority(scope: WorkScope) -> String {
    match scope {
        WorkScope::SentBy(_) => "messages.sender_id = ? AND participants.participant_id = ?".to_owned(),
        WorkScope::Everything | WorkScope::OwnedBy(_) | WorkScope::Of(_) => {
            format!("participants.participant_id IN (SELECT agents.id {} AND agents.id = ?)", agents(scope))
        }
    }
}

/// The user, the organization, or the sender of a scope; `None` for the operator.
pub(crate) fn account(scope: WorkScope) -> Option<Id> {
    match scope {
        WorkScope::Everything => None,
        WorkScope::OwnedBy(user) => Some(Id(user.uuid())),
        WorkScope::Of(by) => Some(Id(by.organization().uuid())),
        WorkScope::SentBy(sender) => Some(Id(sender.uuid())),
    }
}

/// The state of a search, or nothing.
pub(crate) fn state(search: &WorkSearch) -> &'static str {
    search.state.map_or("", |state| state.as_str())
}

/// The root of the tree of a search, if it has one.
pub(crate) fn root(search: &WorkSearch) -> Option<Id> {
    search.root.map(|root| Id(root.uuid()))
}

/// The text that an error must contain, in lower case; empty for any.
pub(crate) fn error(search: &WorkSearch) -> String {
    search.error.as_ref().map(|text| text.to_ascii_lowercase()).unwrap_or_default()
}

/// The conditions on the row of an item. Values: the word of the state or nothing; the least number of
/// attempts; twice the time at which a restart must be, or before; twice the time since which it must be
/// open; twice the number of failures in a row.
pub(crate) static CONDITIONS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "? IN ('', {}) AND deliveries.current_attempt >= ? \
         AND (? IS NULL OR deliveries.restarted_at IS NULL OR deliveries.restarted_at <= ?) \
         AND (? IS NULL OR deliveries.failed_at IS NULL AND deliveries.started_at <= ?) \
         AND (? = 0 OR {} >= ?)",
        status::word(),
        failures(),
    )
});

/// The number of attempts in a row that have failed.
fn failures() -> String {
    let shown = is_shown();
    format!(
        "CASE WHEN deliveries.failed_at IS NULL OR {WAITS} THEN 0 ELSE 1 END + (\
             SELECT count(*) FROM attempts WHERE {shown} AND attempts.number > coalesce(deliveries.restarted_after, 0) \
             AND attempts.number > coalesce(\
                 (SELECT max(attempts.number) FROM attempts WHERE {shown} AND attempts.error IS NULL), 0))",
        WAITS = status::WAITS,
    )
}

/// The columns of an item that is open, dead, or held, to be counted: `state`, `created_at`, and whether it has each
/// flag, as 1 or 0. They need [`BOUNDS`].
pub(crate) static COUNTED: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{} AS state, messages.created_at AS created_at, \
         CASE WHEN deliveries.dead_at IS NULL AND {WAITS} AND messages.created_at <= bounds.unanswered \
             AND (deliveries.restarted_at IS NULL OR deliveries.restarted_at <= bounds.unanswered) \
             THEN 1 ELSE 0 END AS unanswered, \
         CASE WHEN deliveries.dead_at IS NULL AND {PROCESSING} AND deliveries.started_at <= bounds.stuck \
             THEN 1 ELSE 0 END AS stuck, \
         CASE WHEN deliveries.dead_at IS NULL AND deliveries.current_attempt >= bounds.failing \
             AND {} >= bounds.failing THEN 1 ELSE 0 END AS failing",
        status::word(),
        failures(),
        WAITS = status::WAITS,
        PROCESSING = status::PROCESSING,
    )
});

/// The thresholds of flags as a table of one row. Values: those of [`FlagBounds`], in order.
pub(crate) const BOUNDS: &str = "(SELECT ? AS unanswered, ? AS stuck, ? AS failing) AS bounds";

/// The last value of [`BOUNDS`].
pub(crate) fn failing(flags: FlagBounds) -> i32 {
    i32::try_from(flags.failing).unwrap_or(i32::MAX)
}

/// The columns of a group of counted items, after the state: [`Sums`].
pub(crate) const SUMS: &str = "count(*) AS number, min(created_at) AS oldest, sum(unanswered) AS unanswered, \
     sum(stuck) AS stuck, sum(failing) AS failing";

/// Whether an item has a flag; needs [`COUNTED`].
pub(crate) const FLAGGED: &str = "(state IN ('dead', 'held') OR unanswered = 1 OR stuck = 1 OR failing = 1)";

/// The sums of the items in one state.
#[derive(Queryable, QueryableByName)]
pub(crate) struct Sums {
    #[diesel(sql_type = Text)]
    state: String,
    #[diesel(sql_type = BigInt)]
    number: i64,
    #[diesel(sql_type = Nullable<AtType>)]
    oldest: Option<At>,
    #[diesel(sql_type = BigInt)]
    unanswered: i64,
    #[diesel(sql_type = BigInt)]
    stuck: i64,
    #[diesel(sql_type = BigInt)]
    failing: i64,
}

impl Sums {
    /// Adds them to totals.
    pub(crate) fn add_to(&self, totals: &mut WorkTotals) -> Result<(), Fault> {
        totals.add(self.state_totals()?);
        Ok(())
    }

    fn state_totals(&self) -> Result<StateTotals, Fault> {
        Ok(StateTotals {
            state: row::word(&self.state, DeliveryStatus::parse)?,
            number: self.number.cast_unsigned(),
            oldest: self.oldest.map(|At(at)| at),
            unanswered: self.unanswered.cast_unsigned(),
            stuck: self.stuck.cast_unsigned(),
            failing: self.failing.cast_unsigned(),
        })
    }
}

/// The columns of a group of items `counted`, which may be missing.
const GROUP: &str = "counted.state AS state, coalesce(counted.number, 0) AS number, counted.oldest AS oldest, \
     coalesce(counted.unanswered, 0) AS unanswered, coalesce(counted.stuck, 0) AS stuck, \
     coalesce(counted.failing, 0) AS failing";

/// The items of an agent in one state with the same error, if there are any.
#[derive(Queryable, QueryableByName)]
pub(crate) struct CountedRow {
    #[diesel(sql_type = Bool)]
    is_cut: bool,
    #[diesel(sql_type = Nullable<IdType>)]
    agent_id: Option<Id>,
    #[diesel(sql_type = Nullable<Text>)]
    handle: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    error: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    state: Option<String>,
    #[diesel(sql_type = BigInt)]
    number: i64,
    #[diesel(sql_type = Nullable<AtType>)]
    oldest: Option<At>,
    #[diesel(sql_type = BigInt)]
    unanswered: i64,
    #[diesel(sql_type = BigInt)]
    stuck: i64,
    #[diesel(sql_type = BigInt)]
    failing: i64,
}

impl CountedRow {
    /// Selects the groups of items `counted` of the deliveries `examined`, and whether there may be more of these.
    pub(crate) fn select() -> String {
        format!(
            "SELECT size.is_cut AS is_cut, counted.agent_id AS agent_id, \
                 (SELECT agents.handle FROM agents WHERE agents.id = counted.agent_id) AS handle, \
                 (SELECT agents.name FROM agents WHERE agents.id = counted.agent_id) AS name, \
                 counted.error AS error, {GROUP} \
             FROM (SELECT coalesce(sum(queue.number), 0) >= {SUMMARIZED_PER_PART} \
                 OR coalesce(max(queue.number), 0) >= {EXAMINED_PER_QUEUE} AS is_cut \
                 FROM (SELECT count(*) AS number FROM examined GROUP BY agent_id, chat_id) AS queue) AS size \
             LEFT JOIN counted ON TRUE"
        )
    }
}

/// Adds the counted items of a part.
pub(crate) fn add_counted(counts: &mut WorkCounts, rows: Vec<CountedRow>) -> Result<(), Fault> {
    for row in rows {
        let CountedRow { number, oldest, unanswered, stuck, failing, .. } = row;
        counts.is_cut |= row.is_cut;
        let (Some(Id(agent)), Some(state)) = (row.agent_id, row.state) else { continue };
        counts.items.push(CountedWork {
            agent: AgentId::new(agent),
            handle: row.handle.unwrap_or_default(),
            name: row.name.unwrap_or_default(),
            items: Sums { state, number, oldest, unanswered, stuck, failing }.state_totals()?,
            error: row.error,
        });
    }
    Ok(())
}

/// The beginning of the last error of an item, if a summary counts by it. What waits has none that counts.
pub(crate) fn summarized_error(part: WorkPart, search: &WorkSearch) -> String {
    if part == WorkPart::Waiting || !search.scope.reveals_errors() {
        return "CAST(NULL AS TEXT)".to_owned();
    }
    format!("substr({LAST_ERROR}, 1, {SUMMARIZED_ERROR_CHARS})")
}

/// An agent, and its items in one state, if it has any.
#[derive(Queryable, QueryableByName)]
pub(crate) struct AgentSums {
    #[diesel(sql_type = IdType)]
    agent_id: Id,
    #[diesel(sql_type = Nullable<Bool>)]
    is_connected: Option<bool>,
    #[diesel(sql_type = Nullable<AtType>)]
    seen_at: Option<At>,
    #[diesel(sql_type = Nullable<AtType>)]
    disconnected_at: Option<At>,
    #[diesel(sql_type = Nullable<Text>)]
    disconnect_reason: Option<String>,
    /// The begin of the newest attempt that succeeded.
    #[diesel(sql_type = Nullable<AtType>)]
    done_begun_at: Option<At>,
    /// Its end.
    #[diesel(sql_type = Nullable<AtType>)]
    done_at: Option<At>,
    /// The last time at which one of the items was begun.
    #[diesel(sql_type = Nullable<AtType>)]
    begun_at: Option<At>,
    #[diesel(sql_type = Nullable<Text>)]
    state: Option<String>,
    #[diesel(sql_type = BigInt)]
    number: i64,
    #[diesel(sql_type = Nullable<AtType>)]
    oldest: Option<At>,
    #[diesel(sql_type = BigInt)]
    unanswered: i64,
    #[diesel(sql_type = BigInt)]
    stuck: i64,
    #[diesel(sql_type = BigInt)]
    failing: i64,
}

impl AgentSums {
    /// The columns of the groups of items `counted`, some of which are missing.
    pub(crate) fn columns() -> String {
        format!("counted.begun_at AS begun_at, {GROUP}")
    }

    /// Adds the items to the work of the agent.
    fn add_to(self, work: &mut AgentWork) -> Result<(), Fault> {
        let Self { number, oldest, unanswered, stuck, failing, .. } = self;
        if let Some(state) = self.state {
            Sums { state, number, oldest, unanswered, stuck, failing }.add_to(&mut work.totals)?;
        }
        let time = |at: Option<At>| at.map(|At(at)| at);
        work.is_connected = self.is_connected;
        work.seen_at = time(self.seen_at);
        work.disconnect = disconnect(self.disconnected_at, self.disconnect_reason.as_deref());
        work.taken_at = work.taken_at.max(time(self.begun_at)).max(time(self.done_begun_at));
        work.finished_at = time(self.done_at);
        Ok(())
    }
}

/// The work of these agents, in this order.
pub(crate) fn work_of(agents: &[AgentId], rows: Vec<AgentSums>) -> Result<Vec<AgentWork>, Fault> {
    let mut all = HashMap::new();
    for row in rows {
        let agent = AgentId::new(row.agent_id.0);
        row.add_to(all.entry(agent).or_insert_with(|| AgentWork::none(agent)))?;
    }
    Ok(agents.iter().map(|agent| all.get(agent).copied().unwrap_or(AgentWork::none(*agent))).collect())
}

/// The condition, beside that of its index, that a delivery belongs to a part.
pub(crate) const fn belongs(part: WorkPart) -> &'static str {
    match part {
        WorkPart::Waiting => status::WAITS,
        WorkPart::Begun => status::BEGUN,
        WorkPart::Dead => "TRUE",
    }
}

/// As [`belongs`], for those that somebody must act on: nobody must on what another message replaces.
pub(crate) const fn counts(part: WorkPart) -> &'static str {
    match part {
        WorkPart::Dead => "deliveries.replaced_by IS NULL",
        WorkPart::Waiting | WorkPart::Begun => belongs(part),
    }
}

/// The condition on the deliveries of a part that a search examines.
pub(crate) fn examined(part: WorkPart, search: &WorkSearch) -> &'static str {
    match part {
        WorkPart::Waiting | WorkPart::Begun => "TRUE",
        WorkPart::Dead if search.is_of_held() => "deliveries.held_by IS NOT NULL",
        WorkPart::Dead if search.includes_replaced() => "deliveries.held_by IS NULL",
        WorkPart::Dead => "deliveries.held_by IS NULL AND deliveries.replaced_by IS NULL",
    }
}

/// The error of the newest attempt that has ended.
pub(crate) const LAST_ERROR: &str = "coalesce(deliveries.error, (SELECT attempts.error FROM attempts \
     WHERE attempts.agent_id = deliveries.agent_id AND attempts.chat_id = deliveries.chat_id \
     AND attempts.sequence = deliveries.sequence AND attempts.number = deliveries.current_attempt - 1))";
