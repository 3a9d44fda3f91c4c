//! Delivery steps that share transactions: their rows are read and locked, each step is decided, and
//! all are written at once.
//!
//! A batch does not wait for locked messages and deliveries. A step that meets such a lock, or needs
//! more than its delivery, is deferred and written separately ([`super::advance`]), as are the steps of
//! a batch whose outcome was in doubt.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use diesel::sql_types::{Array, Bool, Integer, Nullable, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::ParticipantStatus;
use domain::delivery::{AdvanceDelivery, AdvanceRefused, Advanced, Claims, DeliveryKey, MaxAttempts};
use domain::id::{AgentId, MessageId, ParticipantId};
use domain::message::Message;
use futures_util::future::{join3, try_join};
use measure::Work;
use uuid::Uuid;

use super::advance::advance_on;
use super::mark_delivered::LOCK_MESSAGES;
use super::save::SteppedRecords;
use crate::account::row::StepSettings;
use crate::error::Fault;
use crate::group_commit::{self, BatchWork, LockWait};
use crate::message::batch::{MemberKey, Members, STEPPING_MEMBERS, memberships_on};
use crate::message::load::{Records, messages_on, rows_on};
use crate::message::record_key::RecordKeys;
use crate::message::row::{MessageRow, number_column};
use crate::row::At;
use crate::run::{Db, execute};
use crate::statement::statement;

/// The writing of steps.
pub(crate) struct DeliverySteps;

type Outcome = Result<Advanced, AdvanceRefused>;

/// The decided batch.
#[derive(Default)]
pub(crate) struct DecidedSteps {
    /// The outcomes of the steps that are not deferred, in order.
    outcomes: Vec<Outcome>,
    /// The indexes of the deferred steps: those that meet a lock, or need more than their delivery.
    deferred: Vec<usize>,
    /// The changed records.
    stepped: SteppedRecords,
}

impl BatchWork for DeliverySteps {
    type Change = AdvanceDelivery;
    type Stored = Advanced;
    type Refused = AdvanceRefused;
    type Decided = DecidedSteps;

    const NAME: &'static str = "delivery steps";
    const KIND: Work = Work::Change;

    fn lane(command: &AdvanceDelivery) -> Uuid {
        command.message.uuid()
    }

    async fn decide_on(
        &self,
        db: &Db,
        commands: &[AdvanceDelivery],
        lock_wait: LockWait,
        in_doubt: Option<&mut DecidedSteps>,
    ) -> Result<Option<DecidedSteps>, Fault> {
        if lock_wait == LockWait::Brief {
            return decide_on(db, commands).await.map(Some);
        }
        lock_on(db, commands).await?;
        if let Some(before) = in_doubt
            && any_stored_on(db, before).await?
        {
            return Ok(None);
        }
        // These are written as they are decided.
        let mut decided = DecidedSteps::default();
        for command in commands {
            decided.outcomes.push(advance_on(db, command).await?);
        }
        Ok(Some(decided))
    }

    async fn write_on(
        &self,
        db: &Db,
        _: &[AdvanceDelivery],
        decided: &mut DecidedSteps,
    ) -> Result<(), Fault> {
        if decided.stepped.is_empty() { Ok(()) } else { decided.stepped.save_on(db).await }
    }
}

impl group_commit::Decided<Advanced, AdvanceRefused> for DecidedSteps {
    fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    fn into_outcomes(self) -> Vec<Outcome> {
        self.outcomes
    }

    fn deferred(&self) -> &[usize] {
        &self.deferred
    }
}

/// What the steps are decided on: locked messages and records, and memberships.
struct LockedRows {
    messages: HashMap<MessageId, Message>,
    locked: LockedRecords,
    members: Members,
}

/// Begins a transaction, locks all rows that are not locked by others, and decides; nothing is
/// written yet.
async fn decide_on(db: &Db, commands: &[AdvanceDelivery]) -> Result<DecidedSteps, Fault> {
    let begun = execute(db, LockWait::Brief.begin());
    let records = records_of_on(db, commands, LockWait::Brief);
    let (begun, rows, locked) = join3(begun, messages_of_on(db, commands), records).await;
    begun?;
    // After the answer, since a statement that is already prepared would overtake the locks.
    let wanted = commands.iter().map(membership_of).collect();
    let (messages, members) =
        try_join(messages_on(db, rows?, Records::All), memberships_on(db, wanted, STEPPING_MEMBERS)).await?;
    let messages = messages.into_iter().map(|message| (message.id, message)).collect();
    let mut locked_rows = LockedRows { messages, locked: locked?, members };
    let mut decided = DecidedSteps::default();
    for (index, command) in commands.iter().enumerate() {
        match decided.decide(command, &mut locked_rows)? {
            Some(outcome) => decided.outcomes.push(outcome),
            None => decided.deferred.push(index),
        }
    }
    Ok(decided)
}

/// Begins a transaction and locks all rows. Waits for those that other transactions have locked.
async fn lock_on(mut db: &Db, commands: &[AdvanceDelivery]) -> Result<(), Fault> {
    let ids = commands.iter().map(|command| command.message.uuid()).collect::<Vec<_>>();
    let messages = statement::<SqlUuid>(LOCK_MESSAGES).bind::<Array<SqlUuid>, _>(ids);
    let (begun, locked, records) = join3(
        execute(db, LockWait::Long.begin()),
        messages.load::<Uuid>(&mut db),
        records_of_on(db, commands, LockWait::Long),
    )
    .await;
    begun?;
    locked?;
    records.map(|_| ())
}

/// The newest attempt of a step as the step has left it, unless a later step has closed it: it is in
/// the record, or among the earlier attempts. A step that has ended the delivery and no attempt is known
/// by the time of that end. A renewal leaves no such trace, and does not count.
const STORED: &str = "SELECT EXISTS (SELECT 1 FROM unnest(?, ?, ?, ?, ?, ?, ?) \
     AS step (agent_id, chat_id, sequence, number, started_at, completed_at, dead_at) \
     LEFT JOIN deliveries ON deliveries.agent_id = step.agent_id AND deliveries.chat_id = step.chat_id \
     AND deliveries.sequence = step.sequence AND deliveries.current_attempt = step.number \
     LEFT JOIN attempts ON attempts.agent_id = step.agent_id AND attempts.chat_id = step.chat_id \
     AND attempts.sequence = step.sequence AND attempts.number = step.number \
     WHERE coalesce(deliveries.started_at, attempts.started_at) = step.started_at AND (step.completed_at IS NULL \
     OR coalesce(deliveries.processed_at, deliveries.failed_at, attempts.completed_at) = step.completed_at) \
     AND (step.dead_at IS NULL OR deliveries.dead_at = step.dead_at))";

/// Returns whether one of these steps is stored.
async fn any_stored_on(mut db: &Db, decided: &DecidedSteps) -> Result<bool, Fault> {
    let (mut keys, mut numbers) = (RecordKeys::default(), Vec::new());
    let (mut begun, mut completed, mut ended) = (Vec::new(), Vec::new(), Vec::new());
    let steps = decided.outcomes.iter().flatten().filter(|advanced| !advanced.is_renewal);
    for Advanced { message, delivery, .. } in steps {
        let Some(newest) = delivery.attempts().last() else { continue };
        keys.extend([(delivery.agent().uuid(), message.chat_id.uuid(), message.sequence.get())]);
        numbers.push(number_column(newest.number)?);
        begun.push(At(newest.started_at));
        completed.push(newest.completed_at().map(At));
        // An attempt that had ended before the step does not show that the step is stored.
        let dead = delivery.dead().filter(|dead| newest.completed_at() != Some(dead.at));
        ended.push(dead.map(|dead| At(dead.at)));
    }
    let stored = keys
        .bind(statement::<Bool>(STORED))
        .bind::<Array<Integer>, _>(numbers)
        .bind::<Array<Timestamptz>, _>(begun)
        .bind::<Array<Nullable<Timestamptz>>, _>(completed)
        .bind::<Array<Nullable<Timestamptz>>, _>(ended);
    Ok(stored.get_result(&mut db).await?)
}

/// The messages, locked against other steps, so that the event of a step shows every step announced
/// before.
async fn messages_of_on(db: &Db, commands: &[AdvanceDelivery]) -> Result<Vec<MessageRow>, Fault> {
    let ids = commands.iter().map(|command| command.message.uuid()).collect::<Vec<_>>();
    rows_on(db, ids, "ORDER BY id FOR NO KEY UPDATE SKIP LOCKED").await
}

/// The locked deliveries, each with the settings of its agent.
type LockedRecords = HashMap<DeliveryKey, (Option<MaxAttempts>, Claims)>;

/// A delivery can be marked without the message's lock, so the records have their own. They are locked one after the other,
/// in the order of their keys. A plan for empty tables would otherwise begin with all deliveries of an agent.
macro_rules! records {
    ($locked:literal) => {
        concat!(
            "SELECT locked.message_id, locked.agent_id, agents.max_attempts, coalesce(agents.exclusive_claims, FALSE) FROM (\
             SELECT wanted.message_id, wanted.agent_id FROM (SELECT given.message_id, given.agent_id, place.chat_id, place.sequence \
             FROM unnest(?, ?) AS given (message_id, agent_id) CROSS JOIN LATERAL \
             (SELECT chat_id, sequence FROM messages WHERE messages.id = given.message_id OFFSET 0) AS place \
             ORDER BY given.agent_id, place.chat_id, place.sequence) AS wanted CROSS JOIN LATERAL (\
             SELECT FROM deliveries WHERE deliveries.agent_id = wanted.agent_id \
             AND deliveries.chat_id = wanted.chat_id AND deliveries.sequence = wanted.sequence FOR NO KEY UPDATE",
            $locked,
            ") AS delivery OFFSET 0) AS locked LEFT JOIN agents ON agents.id = locked.agent_id"
        )
    };
}

async fn records_of_on(
    mut db: &Db,
    commands: &[AdvanceDelivery],
    lock_wait: LockWait,
) -> Result<LockedRecords, Fault> {
    let wanted = commands.iter().map(delivery_of).collect::<BTreeSet<_>>();
    let (messages, agents) =
        wanted.iter().map(|key| (key.message.uuid(), key.agent.uuid())).unzip::<_, _, Vec<_>, Vec<_>>();
    let text = match lock_wait {
        LockWait::Brief => records!(" SKIP LOCKED"),
        LockWait::Long => records!(""),
    };
    let locked = statement::<(SqlUuid, SqlUuid, (Nullable<Integer>, Bool))>(text)
        .bind::<Array<SqlUuid>, _>(messages)
        .bind::<Array<SqlUuid>, _>(agents)
        .load::<(Uuid, Uuid, StepSettings)>(&mut db)
        .await?;
    let locked = locked.into_iter().map(|(message, agent, settings)| {
        let key = DeliveryKey { message: MessageId::new(message), agent: AgentId::new(agent) };
        Ok((key, settings.into_settings()?))
    });
    locked.collect()
}

fn delivery_of(command: &AdvanceDelivery) -> DeliveryKey {
    DeliveryKey { message: command.message, agent: command.agent }
}

fn membership_of(command: &AdvanceDelivery) -> MemberKey {
    MemberKey::new(command.chat, ParticipantId::Agent(command.agent))
}

impl DecidedSteps {
    /// Decides one step, after all before it; `None` if it must be deferred.
    fn decide(
        &mut self,
        command: &AdvanceDelivery,
        locked_rows: &mut LockedRows,
    ) -> Result<Option<Outcome>, Fault> {
        let key = delivery_of(command);
        let membership = locked_rows.members.get(&membership_of(command));
        if membership.is_some_and(|state| state.is_halted()) {
            return Ok(Some(Err(AdvanceRefused::Stopped)));
        }
        // The first activity of a participant makes it active, which needs a change of its own.
        let is_active = membership.is_some_and(|state| state.status == ParticipantStatus::Active);
        let message =
            locked_rows.messages.get_mut(&key.message).filter(|message| message.chat_id == command.chat);
        let (Some(message), true, Some(settings)) = (message, is_active, locked_rows.locked.get(&key)) else {
            return Ok(None);
        };
        let record = message.deliveries.iter_mut().find(|record| record.agent() == command.agent);
        let Some(record) = record else { return Ok(None) };
        let row = (key.agent.uuid(), message.chat_id.uuid(), message.sequence.get());
        let before = self.stepped.get(&row).unwrap_or(record).clone();
        let (max, claims) = *settings;
        let after = match before.clone().step(&command.step, command.terms(max, claims), command.now) {
            Ok(after) => after,
            Err(refused) => return Ok(Some(Err(refused.into()))),
        };
        self.stepped.add(row, &before, after.clone())?;
        *record = after.clone().shown();
        Ok(Some(Ok(command.advanced(message.clone(), after))))
    }
}
