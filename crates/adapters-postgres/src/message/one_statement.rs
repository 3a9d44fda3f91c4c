//! Writing an optimistic batch: one statement, which is a transaction of its own, and writes nothing after a conflict.
//!
//! There are two. The full one finds causes and limits. Starting it takes PostgreSQL longer than writing one message, and few
//! messages need it: texts of agents only while their sender has an open attempt or a pair is held, and all texts only while an
//! organization has the policy `hold` or an exceeded budget. The short one checks this, and writes nothing if a message needs
//! the full one.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use diesel::sql_types::{Array, BigInt, Bool, Integer, Nullable, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::HeldBy;
use domain::id::AgentId;
use domain::message::{Appended, Cause};
use uuid::Uuid;

use super::batch::DecidedAppends;
use super::{cause, foreign, hold, insert};
use crate::chat::row::max_hops_column;
use crate::error::Fault;
use crate::row;
use crate::run::{Db, durable};
use crate::statement::{Statement, statement};

/// The number of batches that do not try the short statement after one that needed the full one: each failed attempt costs a
/// round trip.
const BACKOFF_BATCHES: u8 = 64;

/// The statement of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum BatchStatement {
    /// The full one.
    #[default]
    Full,
    /// The short one, and the full one if a message needs it.
    Short,
    /// The full one, after the short one.
    FellBack,
}

/// Decides which batches try the short statement.
#[derive(Default)]
pub(super) struct ShortBatches {
    /// The number of batches that do not.
    backoff: u8,
}

impl ShortBatches {
    /// The statement of the next batch, which has these messages.
    pub(super) fn next<'m>(&mut self, mut messages: impl Iterator<Item = &'m Appended>) -> BatchStatement {
        let tries = self.backoff == 0;
        self.backoff = self.backoff.saturating_sub(1);
        if tries && messages.all(may_be_short) { BatchStatement::Short } else { BatchStatement::Full }
    }

    /// Records the statement that a batch has used.
    pub(super) fn learn(&mut self, statement: BatchStatement) {
        if statement == BatchStatement::FellBack {
            self.backoff = BACKOFF_BATCHES;
        }
    }
}

/// Returns whether nothing is known of a message that the full statement is needed for.
fn may_be_short(appended: &Appended) -> bool {
    let cause = appended.message.cause;
    appended.exceeded.is_none()
        && match appended.message.sender.agent() {
            Some(_) => cause.is_none(),
            None => appended.hop_limit.is_none() && !matches!(cause, Cause::Ambiguous { .. }),
        }
}

/// Locks the rows of the chats to the end of the statement, without waiting: a locked row and a row
/// with another version are conflicts.
const LOCKED: &str = "locked AS MATERIALIZED (SELECT chats.id, chats.organization_id, seen.max_hops, seen.foreign_policy \
     FROM unnest(?, ?, ?, ?) AS seen (id, version, max_hops, foreign_policy) JOIN chats ON chats.id = seen.id \
     WHERE chats.xmin::text = seen.version AND chats.deleted_at IS NULL \
     FOR NO KEY UPDATE OF chats SKIP LOCKED)";

/// Checks that all rows are locked, that no plan limits messages or forbids more bytes, and that no organization is paused, or
/// has another limit of hops or another policy than it had. `durable` is counted only because PostgreSQL does not run a part of
/// a statement that nothing refers to.
const PLANS: &str = "(SELECT count(*) FROM locked) = ? AND (SELECT count(*) FROM durable) >= 0 AND NOT EXISTS (\
     SELECT 1 FROM (SELECT DISTINCT organization_id AS id, max_hops, foreign_policy FROM locked) AS own \
     JOIN organizations ON organizations.id = own.id JOIN plans ON plans.name = organizations.plan \
     WHERE plans.messages IS NOT NULL OR organizations.content_bytes >= plans.bytes \
     OR organizations.paused_at IS NOT NULL OR organizations.max_hops IS DISTINCT FROM own.max_hops \
     OR coalesce(organizations.foreign_policy, 'label') <> own.foreign_policy)";

/// The statement is a transaction of its own, and requests a durable commit like every other (`begin!`).
const DURABLE: &str = concat!("durable AS MATERIALIZED (", durable!("true"), ")");

/// Writes a batch if [`PLANS`] holds, and no addressed agent belongs to an organization with the policy `hold` or an exceeded
/// budget.
static WRITE_FULL: LazyLock<String> = LazyLock::new(|| {
    let (messages, deliveries, chats) =
        (&*insert::MESSAGES, &*insert::GUARDED_DELIVERIES, insert::UPDATE_CHATS);
    let (held, record) = (hold::HELD, hold::RECORD);
    let (columns, has_cause, holding) = (cause::COLUMNS, insert::HAS_CAUSE, foreign::HOLDING);
    format!(
        "WITH {DURABLE}, {LOCKED}, guard AS MATERIALIZED (SELECT {PLANS} AND NOT EXISTS ({holding}) AS may_write), \
         message AS ({messages} WHERE (SELECT may_write FROM guard) RETURNING id, chat_id, sequence, created_at, {columns}), \
         held AS MATERIALIZED ({held}), hold AS ({record}), \
         delivery AS ({deliveries} WHERE (SELECT may_write FROM guard)), \
         chat AS ({chats} AND (SELECT may_write FROM guard) RETURNING chats.xmin) \
         SELECT xmin::text, message.id, {columns}, message.held_by FROM (SELECT xmin FROM chat LIMIT 1) AS written \
         LEFT JOIN (SELECT message.*, held.held_by FROM message LEFT JOIN held ON held.id = message.id) AS message \
         ON {has_cause} OR message.held_by IS NOT NULL"
    )
});

/// Writes a batch if [`PLANS`] holds, no sender has an open attempt, no pair is held, and no organization has the policy `hold`.
static WRITE_SHORT: LazyLock<String> = LazyLock::new(|| {
    let (messages, deliveries, chats) =
        (&*insert::CAUSELESS_MESSAGES, insert::DELIVERIES, insert::UPDATE_CHATS);
    format!(
        "WITH {DURABLE}, {LOCKED}, guard AS MATERIALIZED (SELECT {PLANS} AS is_current, \
         (SELECT 1 FROM unnest(?) AS sender (id) CROSS JOIN LATERAL (SELECT FROM deliveries WHERE agent_id = sender.id \
         AND processed_at IS NULL AND dead_at IS NULL AND current_attempt > 0 LIMIT 1) AS open LIMIT 1) IS NULL \
         AND (SELECT 1 FROM unnest(?) AS pair (id) CROSS JOIN LATERAL (SELECT FROM holds WHERE subject_id = pair.id \
         AND held_by = 'max_pair_messages' AND held_at IS NOT NULL LIMIT 1) AS hold LIMIT 1) IS NULL \
         AND (SELECT 1 FROM organizations WHERE foreign_policy = 'hold' LIMIT 1) IS NULL AS is_short), \
         message AS ({messages} WHERE (SELECT is_current AND is_short FROM guard)), \
         delivery AS ({deliveries} WHERE (SELECT is_current AND is_short FROM guard)), \
         chat AS ({chats} AND (SELECT is_current AND is_short FROM guard) RETURNING chats.xmin) \
         SELECT (SELECT xmin::text FROM chat LIMIT 1), is_current FROM guard"
    )
});

/// Binds the chats that a batch writes, as they were read, and their number.
fn bind_versions<'d, Row>(statement: Statement<'d, Row>, decided: &'d DecidedAppends) -> Statement<'d, Row> {
    let (ids, versions) = decided
        .written()
        .map(|(id, chat)| (id.uuid(), chat.version.as_str()))
        .unzip::<_, _, Vec<_>, Vec<_>>();
    let states = || decided.written().map(|(_, chat)| &chat.state);
    let max_hops = states().map(|state| state.organization_max_hops.map(max_hops_column));
    let policies = states().map(|state| state.foreign.as_str());
    let count = i64::try_from(ids.len()).unwrap_or(i64::MAX);
    statement
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Array<Text>, _>(versions)
        .bind::<Array<Nullable<Integer>>, _>(max_hops.collect::<Vec<_>>())
        .bind::<Array<Text>, _>(policies.collect::<Vec<_>>())
        .bind::<BigInt, _>(count)
}

/// Writes and commits a batch that was decided on cached chats. Returns `false` after a conflict:
/// nothing is written then.
pub(super) async fn write_on(db: &Db, decided: &mut DecidedAppends) -> Result<bool, Fault> {
    if decided.statement == BatchStatement::Short {
        if let Some(is_written) = write_short_on(db, decided).await? {
            return Ok(is_written);
        }
        decided.statement = BatchStatement::FellBack;
    }
    write_full_on(db, decided).await
}

/// Returns whether the batch was written; `None` if a message needs the full statement.
async fn write_short_on(mut db: &Db, decided: &mut DecidedAppends) -> Result<Option<bool>, Fault> {
    let messages = decided.outcomes.iter().flatten().collect::<Vec<&Appended>>();
    let agents = messages.iter().filter_map(|appended| appended.message.sender.agent());
    let agents = agents.map(AgentId::uuid).collect::<BTreeSet<_>>();
    let pairs = messages.iter().flat_map(|appended| appended.pairs());
    let statement = statement::<(Nullable<Text>, Bool)>(WRITE_SHORT.as_str());
    let statement = bind_versions(statement, decided)
        .bind::<Array<SqlUuid>, _>(agents.into_iter().collect::<Vec<_>>())
        .bind::<Array<SqlUuid>, _>(pairs.map(|pair| pair.subject().uuid()).collect::<Vec<_>>());
    let statement = insert::bind_messages(statement, &messages)?;
    let statement = insert::bind_deliveries(statement, &messages);
    let statement = insert::bind_chats(statement, decided.written().map(|(id, chat)| (id, &chat.state)));
    let (version, is_current) = statement.get_result::<(Option<String>, bool)>(&mut db).await?;
    decided.version = version;
    Ok(if decided.version.is_some() { Some(true) } else { (!is_current).then_some(false) })
}

async fn write_full_on(mut db: &Db, decided: &mut DecidedAppends) -> Result<bool, Fault> {
    let messages = decided.outcomes.iter().flatten().collect::<Vec<&Appended>>();
    let addressed = foreign::addressed(messages.iter().flat_map(|appended| &appended.message.mentions));
    let over_budget = foreign::over_budget(messages.iter().map(|appended| &appended.exceeded));
    let statement = statement::<(Text, Nullable<SqlUuid>, cause::Types, Nullable<Text>)>(WRITE_FULL.as_str());
    let statement = bind_versions(statement, decided)
        .bind::<Array<SqlUuid>, _>(addressed)
        .bind::<Array<SqlUuid>, _>(over_budget.clone())
        .bind::<Array<SqlUuid>, _>(over_budget);
    let statement = insert::bind_messages(statement, &messages)?;
    let statement = hold::bind_limits(statement, decided.outcomes.iter().flatten());
    let statement = insert::bind_deliveries(statement, &messages);
    let statement = insert::bind_chats(statement, decided.written().map(|(id, chat)| (id, &chat.state)));
    let written = statement.load::<(String, Option<Uuid>, cause::Columns, Option<String>)>(&mut db).await?;
    decided.version = written.as_slice().first().map(|(version, ..)| version.clone());
    let held =
        written.iter().filter_map(|(_, message, _, held_by)| Some((*message.as_ref()?, held_by.as_ref()?)));
    let held = held.map(|(message, by)| Ok((message, row::word(by, HeldBy::parse)?)));
    let held = held.collect::<Result<HashMap<Uuid, HeldBy>, Fault>>()?;
    let causes = written.into_iter().filter_map(|(_, message, cause, _)| Some((message?, cause)));
    decided.follow(&cause::by_message(causes)?, |message, _| held.get(&message).copied());
    Ok(decided.version.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_fell_back_spares_the_next_ones_the_attempt() {
        let mut batches = ShortBatches::default();
        let mut next = || batches.next(std::iter::empty());
        assert_eq!(next(), BatchStatement::Short);
        assert_eq!(next(), BatchStatement::Short);
        batches.learn(BatchStatement::Short);
        batches.learn(BatchStatement::FellBack);
        let next = (0..=BACKOFF_BATCHES).map(|_| batches.next(std::iter::empty())).collect::<Vec<_>>();
        let (last, others) = next.split_last().unwrap();
        assert!(others.iter().all(|statement| *statement == BatchStatement::Full), "{others:?}");
        assert_eq!(*last, BatchStatement::Short);
    }
}
