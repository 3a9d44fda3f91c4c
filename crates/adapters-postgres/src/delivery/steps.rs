//! Steps of a batch: what they stand on is read, decided step by step, and written by one statement, of each message
//! all or nothing: only if the message and all its records are still the rows that were read.
//!
//! Whoever changes something about a message that is told of writes its row or that of one of its records, so
//! the versions of those rows tell whether anything has changed since. The statement holds them to its end and waits
//! for none, so what is told of one step shows every step that was told before.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

use diesel::sql_types::{Array, BigInt, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::ParticipantStatus;
use domain::delivery::{AdvanceDelivery, AdvanceRefused, Advanced, Attempt, Delivery};
use futures_util::future::try_join;
use uuid::Uuid;

use super::advance::number;
use crate::error::Fault;
use crate::message::batch::{Members, memberships_on};
use crate::message::seen::{Seen, seen_on};
use crate::row::At;
use crate::run::Db;
use crate::statement::{Statement, statement};

/// What becomes of a batch.
pub(super) struct Decided {
    /// Of each step, in their order; `None` for one that has to be taken by itself.
    pub(super) outcomes: Vec<Option<Result<Advanced, AdvanceRefused>>>,
    /// The records that change, as they will be, by message and agent.
    records: BTreeMap<(Uuid, Uuid), Delivery>,
    /// The attempts that change, by message, agent and number.
    attempts: BTreeMap<(Uuid, Uuid, i32), Attempt>,
    /// The messages that this stands on, as the steps leave them, with the versions that were read.
    messages: HashMap<Uuid, Seen>,
}

impl Decided {
    /// Whether there is nothing to write.
    pub(super) fn is_nothing(&self) -> bool {
        self.records.is_empty()
    }

    /// Takes back what was decided of messages in which something was to be written, but for those where it was.
    pub(super) fn keep(&mut self, written: &HashSet<Uuid>, commands: &[AdvanceDelivery]) {
        let lost = self.records.keys().map(|key| key.0).filter(|message| !written.contains(message));
        let lost = lost.collect::<HashSet<_>>();
        for (outcome, command) in self.outcomes.iter_mut().zip(commands) {
            if lost.contains(&command.message.uuid()) {
                *outcome = None;
            }
        }
    }
}

/// Reads what the steps stand on and decides; nothing is locked or written yet.
pub(super) async fn decide_on(db: &Db, commands: &[AdvanceDelivery]) -> Result<Decided, Fault> {
    let ids = commands.iter().map(|command| command.message.uuid()).collect::<BTreeSet<_>>();
    let wanted = commands.iter().map(|command| (command.chat.uuid(), command.agent.uuid())).collect();
    let (messages, members) =
        try_join(seen_on(db, ids.into_iter().collect()), memberships_on(db, wanted)).await?;
    let (records, attempts) = (BTreeMap::new(), BTreeMap::new());
    let mut decided = Decided { outcomes: Vec::new(), records, attempts, messages };
    for command in commands {
        let outcome = decided.decide(command, &members)?;
        decided.outcomes.push(outcome);
    }
    Ok(decided)
}

impl Decided {
    /// Decides one step, after all before it.
    fn decide(
        &mut self,
        command: &AdvanceDelivery,
        members: &Members,
    ) -> Result<Option<Result<Advanced, AdvanceRefused>>, Fault> {
        let key = (command.message.uuid(), command.agent.uuid());
        let membership = members.get(&(command.chat.uuid(), command.agent.uuid()));
        // Who shows itself for the first time becomes active, and that is a change of its own.
        let is_active = membership.is_some_and(|status| *status == ParticipantStatus::Active);
        let message = self.messages.get_mut(&key.0).map(|seen| &mut seen.message);
        let message = message.filter(|message| message.chat_id == command.chat && is_active);
        let Some(message) = message else { return Ok(None) };
        let record = message.deliveries.iter_mut().find(|record| record.agent == command.agent);
        let Some(record) = record else { return Ok(None) };
        let Ok(after) = record.clone().step(&command.step, command.now) else {
            return Ok(Some(Err(AdvanceRefused::NoActiveAttempt)));
        };
        for attempt in after.attempts.iter().filter(|attempt| !record.attempts.contains(attempt)) {
            self.attempts.insert((key.0, key.1, number(attempt.number.0)?), attempt.clone());
        }
        *record = after.clone().shown();
        self.records.insert(key, after.clone());
        Ok(Some(Ok(Advanced { message: message.clone(), delivery: after })))
    }
}

/// Who else holds one of the rows is not waited for; an attempt may be held by whoever erases what is old.
const HELD: &str = "patience AS MATERIALIZED (SELECT set_config('lock_timeout', '100', TRUE)), \
     message AS MATERIALIZED (SELECT messages.id, seen.records \
         FROM unnest(?, ?, ?) AS seen (id, version, records) CROSS JOIN patience \
         JOIN messages ON messages.id = seen.id WHERE messages.xmin::text = seen.version \
         FOR NO KEY UPDATE OF messages SKIP LOCKED), \
     record AS MATERIALIZED (SELECT deliveries.message_id, message.records \
         FROM unnest(?, ?, ?) AS seen (message_id, agent_id, version) JOIN message ON message.id = seen.message_id \
         JOIN deliveries ON deliveries.message_id = seen.message_id AND deliveries.agent_id = seen.agent_id \
         WHERE deliveries.xmin::text = seen.version FOR NO KEY UPDATE OF deliveries SKIP LOCKED)";

/// The messages that are held with all their records.
const FIT: &str = "fit AS MATERIALIZED (\
     SELECT message_id AS id FROM record GROUP BY message_id HAVING count(*) = max(records))";

const RECORDS: &str = "UPDATE deliveries SET status = new.status, current_attempt = new.current_attempt, \
     delivered_at = new.delivered_at, processed_at = new.processed_at \
     FROM unnest(?, ?, ?, ?, ?, ?) \
     AS new (message_id, agent_id, status, current_attempt, delivered_at, processed_at) \
     WHERE deliveries.message_id = new.message_id AND deliveries.agent_id = new.agent_id \
     AND new.message_id = ANY (ARRAY(SELECT id FROM fit)) RETURNING deliveries.message_id";

const ATTEMPTS: &str = "INSERT INTO attempts (message_id, agent_id, number, status, started_at, completed_at, \
     error) SELECT new.* FROM unnest(?, ?, ?, ?, ?, ?, ?) \
     AS new (message_id, agent_id, number, status, started_at, completed_at, error) \
     WHERE new.message_id = ANY (ARRAY(SELECT id FROM fit)) \
     ON CONFLICT (message_id, agent_id, number) DO UPDATE SET status = excluded.status, \
     completed_at = excluded.completed_at, error = excluded.error";

static WRITE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "WITH {HELD}, {FIT}, written AS ({RECORDS}), attempt AS ({ATTEMPTS}) \
         SELECT DISTINCT message_id FROM written"
    )
});

/// Writes what was decided, and commits it: of each message all of it, or nothing if it or one of its records is held
/// by somebody else or is another row by now. Gives those in which it was written.
pub(super) async fn write_on(mut db: &Db, decided: &Decided) -> Result<HashSet<Uuid>, Fault> {
    let statement =
        decided.bind_attempts(decided.bind_records(decided.bind_seen(statement(WRITE.as_str())))?);
    Ok(statement.load::<Uuid>(&mut db).await?.into_iter().collect())
}

type Write<'d> = Statement<'d, SqlUuid>;

impl Decided {
    fn bind_seen<'d>(&'d self, statement: Write<'d>) -> Write<'d> {
        let (mut ids, mut versions, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut messages, mut agents, mut records) = (Vec::new(), Vec::new(), Vec::new());
        let changing = self.records.keys().map(|key| key.0).collect::<BTreeSet<_>>();
        for (id, seen) in changing.into_iter().filter_map(|id| Some((id, self.messages.get(&id)?))) {
            ids.push(id);
            versions.push(seen.version.as_str());
            counts.push(i64::try_from(seen.records.len()).unwrap_or(i64::MAX));
            for (agent, version) in &seen.records {
                messages.push(id);
                agents.push(*agent);
                records.push(version.as_str());
            }
        }
        statement
            .bind::<Array<SqlUuid>, _>(ids)
            .bind::<Array<Text>, _>(versions)
            .bind::<Array<BigInt>, _>(counts)
            .bind::<Array<SqlUuid>, _>(messages)
            .bind::<Array<SqlUuid>, _>(agents)
            .bind::<Array<Text>, _>(records)
    }

    fn bind_records<'d>(&'d self, statement: Write<'d>) -> Result<Write<'d>, Fault> {
        let (keys, all) = (self.records.keys(), self.records.values());
        let attempts = all.clone().map(|record| number(record.current_attempt()));
        let attempts = attempts.collect::<Result<Vec<_>, _>>()?;
        let delivered = all.clone().map(|record| record.delivered_at.map(At)).collect::<Vec<_>>();
        let processed = all.clone().map(|record| record.processed_at.map(At)).collect::<Vec<_>>();
        Ok(statement
            .bind::<Array<SqlUuid>, _>(keys.clone().map(|key| key.0).collect::<Vec<_>>())
            .bind::<Array<SqlUuid>, _>(keys.map(|key| key.1).collect::<Vec<_>>())
            .bind::<Array<Text>, _>(all.map(|record| record.status.as_str()).collect::<Vec<_>>())
            .bind::<Array<Integer>, _>(attempts)
            .bind::<Array<Nullable<Timestamptz>>, _>(delivered)
            .bind::<Array<Nullable<Timestamptz>>, _>(processed))
    }

    fn bind_attempts<'d>(&'d self, statement: Write<'d>) -> Write<'d> {
        let (keys, all) = (self.attempts.keys(), self.attempts.values());
        let completed = all.clone().map(|attempt| attempt.completed_at.map(At)).collect::<Vec<_>>();
        statement
            .bind::<Array<SqlUuid>, _>(keys.clone().map(|key| key.0).collect::<Vec<_>>())
            .bind::<Array<SqlUuid>, _>(keys.clone().map(|key| key.1).collect::<Vec<_>>())
            .bind::<Array<Integer>, _>(keys.map(|key| key.2).collect::<Vec<_>>())
            .bind::<Array<Text>, _>(all.clone().map(|attempt| attempt.status.as_str()).collect::<Vec<_>>())
            .bind::<Array<Timestamptz>, _>(
                all.clone().map(|attempt| At(attempt.started_at)).collect::<Vec<_>>(),
            )
            .bind::<Array<Nullable<Timestamptz>>, _>(completed)
            .bind::<Array<Nullable<Text>>, _>(all.map(|attempt| attempt.error.as_deref()).collect::<Vec<_>>())
    }
}
