//! A batch of steps: its basis is read and locked, each step is decided, and all are written at
//! once.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use diesel::sql_types::{Array, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::ParticipantStatus;
use domain::delivery::{AdvanceDelivery, AdvanceRefused, Advanced, Attempt, Delivery};
use domain::message::Message;
use futures_util::future::{join, join3, try_join};
use uuid::Uuid;

use super::advance::number;
use crate::error::Fault;
use crate::message::batch::{Members, memberships_on};
use crate::message::load::{MessageRow, Records, messages_on, rows_on};
use crate::row::At;
use crate::run::{Db, begin, execute};
use crate::statement::statement;

/// The decided batch.
pub(super) struct Decided {
    /// The outcome of each step, in order; `None` for one that needs a transaction of its own.
    pub(super) outcomes: Vec<Option<Result<Advanced, AdvanceRefused>>>,
    /// The changed records in their new state, by message and agent.
    records: BTreeMap<(Uuid, Uuid), Delivery>,
    /// The changed attempts, by message, agent, and number.
    attempts: BTreeMap<(Uuid, Uuid, i32), Attempt>,
}

/// The basis of the steps: locked messages and records, and memberships.
struct Ground {
    messages: HashMap<Uuid, Message>,
    locked: HashSet<(Uuid, Uuid)>,
    members: Members,
}

impl Decided {
    /// Returns whether there is nothing to write.
    pub(super) fn is_nothing(&self) -> bool {
        self.records.is_empty()
    }
}

/// Begins a transaction, locks all rows that are not locked by others, and decides; nothing is
/// written yet.
pub(super) async fn decide_on(db: &Db, commands: &[AdvanceDelivery]) -> Result<Decided, Fault> {
    // Attempts may be locked by others, for example by retention.
    let begun = execute(db, begin!("; SET LOCAL lock_timeout = 100"));
    let (begun, rows, locked) = join3(begun, messages_of_on(db, commands), records_of_on(db, commands)).await;
    begun?;
    // After the answer, since a statement that is already prepared would overtake the locks.
    let wanted = commands.iter().map(|command| (command.chat.uuid(), command.agent.uuid())).collect();
    let (messages, members) =
        try_join(messages_on(db, rows?, Records::All), memberships_on(db, wanted)).await?;
    let messages = messages.into_iter().map(|message| (message.id.uuid(), message)).collect();
    let mut ground = Ground { messages, locked: locked?, members };
    let mut decided = Decided { outcomes: Vec::new(), records: BTreeMap::new(), attempts: BTreeMap::new() };
    for command in commands {
        let outcome = decided.decide(command, &mut ground)?;
        decided.outcomes.push(outcome);
    }
    Ok(decided)
}

/// The messages, locked against other steps, so that the event of a step shows every step announced
/// before.
async fn messages_of_on(db: &Db, commands: &[AdvanceDelivery]) -> Result<Vec<MessageRow>, Fault> {
    let ids = commands.iter().map(|command| command.message.uuid()).collect::<Vec<_>>();
    rows_on(db, ids, "ORDER BY id FOR NO KEY UPDATE SKIP LOCKED").await
}

/// A delivery can be marked without the message's lock, so the records have their own.
const RECORDS: &str = "SELECT deliveries.message_id, deliveries.agent_id \
     FROM unnest(?, ?) AS wanted (message_id, agent_id) \
     JOIN deliveries ON deliveries.message_id = wanted.message_id AND deliveries.agent_id = wanted.agent_id \
     ORDER BY deliveries.message_id, deliveries.agent_id FOR NO KEY UPDATE OF deliveries SKIP LOCKED";

async fn records_of_on(mut db: &Db, commands: &[AdvanceDelivery]) -> Result<HashSet<(Uuid, Uuid)>, Fault> {
    let wanted = commands.iter().map(|command| (command.message.uuid(), command.agent.uuid()));
    let (messages, agents) = wanted.collect::<BTreeSet<_>>().into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
    let locked = statement::<(SqlUuid, SqlUuid)>(RECORDS)
        .bind::<Array<SqlUuid>, _>(messages)
        .bind::<Array<SqlUuid>, _>(agents)
        .load::<(Uuid, Uuid)>(&mut db)
        .await?;
    Ok(locked.into_iter().collect())
}

impl Decided {
    /// Decides one step, after all before it.
    fn decide(
        &mut self,
        command: &AdvanceDelivery,
        ground: &mut Ground,
    ) -> Result<Option<Result<Advanced, AdvanceRefused>>, Fault> {
        let key = (command.message.uuid(), command.agent.uuid());
        let membership = ground.members.get(&(command.chat.uuid(), command.agent.uuid()));
        // The first activity of a participant makes it active, which needs a change of its own.
        let is_active = membership.is_some_and(|status| *status == ParticipantStatus::Active);
        let message = ground.messages.get_mut(&key.0).filter(|message| message.chat_id == command.chat);
        let (Some(message), true, true) = (message, is_active, ground.locked.contains(&key)) else {
            return Ok(None);
        };
        let record = message.deliveries.iter_mut().find(|record| record.agent == command.agent);
        let Some(record) = record else { return Ok(None) };
        let Ok(after) = record.clone().step(&command.step, command.now) else {
            return Ok(Some(Err(AdvanceRefused::NoActiveAttempt)));
        };
        for attempt in after.attempts().iter().filter(|attempt| !record.attempts().contains(attempt)) {
            self.attempts.insert((key.0, key.1, number(attempt.number.0)?), attempt.clone());
        }
        *record = after.clone().shown();
        self.records.insert(key, after.clone());
        Ok(Some(Ok(Advanced { message: message.clone(), delivery: after })))
    }
}

/// Writes the decided batch; the commit follows.
pub(super) async fn write_on(db: &Db, decided: &Decided) -> Result<(), Fault> {
    // Both are pipelined; but the commit must wait for their answers.
    let (records, attempts) =
        join(save_records_on(db, &decided.records), save_attempts_on(db, &decided.attempts)).await;
    records.and(attempts)
}

const SAVE_RECORDS: &str = "UPDATE deliveries SET status = new.status, current_attempt = new.current_attempt, \
     delivered_at = new.delivered_at, processed_at = new.processed_at \
     FROM unnest(?, ?, ?, ?, ?, ?) \
     AS new (message_id, agent_id, status, current_attempt, delivered_at, processed_at) \
     WHERE deliveries.message_id = new.message_id AND deliveries.agent_id = new.agent_id";

async fn save_records_on(mut db: &Db, records: &BTreeMap<(Uuid, Uuid), Delivery>) -> Result<(), Fault> {
    let all = records.values();
    let attempts =
        all.clone().map(|record| number(record.current_attempt())).collect::<Result<Vec<_>, _>>()?;
    statement::<()>(SAVE_RECORDS)
        .bind::<Array<SqlUuid>, _>(records.keys().map(|key| key.0).collect::<Vec<_>>())
        .bind::<Array<SqlUuid>, _>(records.keys().map(|key| key.1).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(all.clone().map(|record| record.status().as_str()).collect::<Vec<_>>())
        .bind::<Array<Integer>, _>(attempts)
        .bind::<Array<Nullable<Timestamptz>>, _>(
            all.clone().map(|record| record.delivered_at.map(At)).collect::<Vec<_>>(),
        )
        .bind::<Array<Nullable<Timestamptz>>, _>(
            all.map(|record| record.processed_at().map(At)).collect::<Vec<_>>(),
        )
        .execute(&mut db)
        .await?;
    Ok(())
}

const SAVE_ATTEMPTS: &str = "INSERT INTO attempts (message_id, agent_id, number, status, started_at, completed_at, \
     error) SELECT * FROM unnest(?, ?, ?, ?, ?, ?, ?) \
     ON CONFLICT (message_id, agent_id, number) DO UPDATE SET status = excluded.status, \
     completed_at = excluded.completed_at, error = excluded.error";

async fn save_attempts_on(mut db: &Db, attempts: &BTreeMap<(Uuid, Uuid, i32), Attempt>) -> Result<(), Fault> {
    let all = attempts.values();
    statement::<()>(SAVE_ATTEMPTS)
        .bind::<Array<SqlUuid>, _>(attempts.keys().map(|key| key.0).collect::<Vec<_>>())
        .bind::<Array<SqlUuid>, _>(attempts.keys().map(|key| key.1).collect::<Vec<_>>())
        .bind::<Array<Integer>, _>(attempts.keys().map(|key| key.2).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(all.clone().map(|attempt| attempt.status.as_str()).collect::<Vec<_>>())
        .bind::<Array<Timestamptz>, _>(all.clone().map(|attempt| At(attempt.started_at)).collect::<Vec<_>>())
        .bind::<Array<Nullable<Timestamptz>>, _>(
            all.clone().map(|attempt| attempt.completed_at.map(At)).collect::<Vec<_>>(),
        )
        .bind::<Array<Nullable<Text>>, _>(all.map(|attempt| attempt.error.as_deref()).collect::<Vec<_>>())
        .execute(&mut db)
        .await?;
    Ok(())
}
