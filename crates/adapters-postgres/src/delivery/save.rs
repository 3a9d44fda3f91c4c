//! The rows that steps write.

use std::collections::BTreeMap;

use diesel::sql_types::{Array, Bool, Integer, Nullable, Text, Timestamptz};
use diesel_async::RunQueryDsl;
use domain::delivery::Delivery;

use crate::error::Fault;
use crate::message::record_key::{RecordKey, RecordKeys};
use crate::message::row::{EarlierAttempt, StepColumns};
use crate::run::Db;
use crate::statement::statement;

/// The deliveries that steps have changed, in their new state, and the attempts that are not the
/// newest of their delivery any more.
#[derive(Default)]
pub(super) struct SteppedRecords {
    records: BTreeMap<RecordKey, Delivery>,
    earlier: Vec<(RecordKey, EarlierAttempt)>,
}

impl SteppedRecords {
    /// The delivery as a step of the same batch has left it.
    pub(super) fn get(&self, key: &RecordKey) -> Option<&Delivery> {
        self.records.get(key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Adds a step of the delivery from `before`, which is the stored one if no other step is added.
    pub(super) fn add(&mut self, key: RecordKey, before: &Delivery, after: Delivery) -> Result<(), Fault> {
        let is_stored = !self.records.contains_key(&key);
        let earlier = EarlierAttempt::between(before, &after, is_stored)?;
        self.earlier.extend(earlier.map(|earlier| (key, earlier)));
        self.records.insert(key, after);
        Ok(())
    }

    /// Writes the rows. Earlier attempts come first, as their errors may still be in the rows of the
    /// deliveries.
    pub(super) async fn save_on(&self, db: &Db) -> Result<(), Fault> {
        if !self.earlier.is_empty() {
            save_earlier_on(db, &self.earlier).await?;
        }
        save_records_on(db, &self.records).await
    }
}

const SAVE_EARLIER: &str = "INSERT INTO attempts (agent_id, chat_id, sequence, number, started_at, completed_at, error) \
     SELECT earlier.agent_id, earlier.chat_id, earlier.sequence, number, earlier.started_at, completed_at, \
         coalesce(earlier.error, (SELECT deliveries.error FROM deliveries \
             WHERE deliveries.agent_id = earlier.agent_id AND deliveries.chat_id = earlier.chat_id \
             AND deliveries.sequence = earlier.sequence AND deliveries.current_attempt = number)) \
     FROM unnest(?, ?, ?, ?, ?, ?, ?) \
         AS earlier (agent_id, chat_id, sequence, number, started_at, completed_at, error)";

async fn save_earlier_on(mut db: &Db, earlier: &[(RecordKey, EarlierAttempt)]) -> Result<(), Fault> {
    let attempts = earlier.iter().map(|(_, attempt)| attempt);
    let keys = earlier.iter().map(|(key, _)| *key).collect::<RecordKeys>();
    keys.bind(statement::<()>(SAVE_EARLIER))
        .bind::<Array<Integer>, _>(attempts.clone().map(|attempt| attempt.number).collect::<Vec<_>>())
        .bind::<Array<Timestamptz>, _>(attempts.clone().map(|attempt| attempt.started_at).collect::<Vec<_>>())
        .bind::<Array<Timestamptz>, _>(
            attempts.clone().map(|attempt| attempt.completed_at).collect::<Vec<_>>(),
        )
        .bind::<Array<Nullable<Text>>, _>(
            attempts.map(|attempt| attempt.error.as_deref()).collect::<Vec<_>>(),
        )
        .execute(&mut db)
        .await?;
    Ok(())
}

/// A delivery without a row is one that the message does not mention: every other row is written
/// with its message. The error of an attempt that had ended before is complete in its row only.
const SAVE_RECORDS: &str = "INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt, \
     started_at, processed_at, failed_at, error, dead_at, dead_reason, claimed_until) \
     SELECT agent_id, chat_id, sequence, addressed, current_attempt, started_at, processed_at, failed_at, error, \
         dead_at, dead_reason, claimed_until \
     FROM unnest(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
         AS new (agent_id, chat_id, sequence, addressed, current_attempt, started_at, processed_at, failed_at, error, \
             dead_at, dead_reason, claimed_until) \
     ON CONFLICT (agent_id, chat_id, sequence) DO UPDATE SET current_attempt = excluded.current_attempt, \
     started_at = excluded.started_at, processed_at = excluded.processed_at, failed_at = excluded.failed_at, \
     error = CASE WHEN deliveries.current_attempt = excluded.current_attempt THEN coalesce(deliveries.error, excluded.error) \
         ELSE excluded.error END, dead_at = excluded.dead_at, dead_reason = excluded.dead_reason, \
     replaced_by = NULL, held_by = NULL, claimed_until = excluded.claimed_until";

async fn save_records_on(mut db: &Db, records: &BTreeMap<RecordKey, Delivery>) -> Result<(), Fault> {
    let columns = records.values().map(StepColumns::of).collect::<Result<Vec<_>, _>>()?;
    let all = columns.iter();
    let keys = records.keys().copied().collect::<RecordKeys>();
    keys.bind(statement::<()>(SAVE_RECORDS))
        .bind::<Array<Bool>, _>(records.values().map(Delivery::is_addressed).collect::<Vec<_>>())
        .bind::<Array<Integer>, _>(all.clone().map(|new| new.current_attempt).collect::<Vec<_>>())
        .bind::<Array<Nullable<Timestamptz>>, _>(all.clone().map(|new| new.started_at).collect::<Vec<_>>())
        .bind::<Array<Nullable<Timestamptz>>, _>(all.clone().map(|new| new.processed_at).collect::<Vec<_>>())
        .bind::<Array<Nullable<Timestamptz>>, _>(all.clone().map(|new| new.failed_at).collect::<Vec<_>>())
        .bind::<Array<Nullable<Text>>, _>(all.clone().map(|new| new.error).collect::<Vec<_>>())
        .bind::<Array<Nullable<Timestamptz>>, _>(all.clone().map(|new| new.dead_at).collect::<Vec<_>>())
        .bind::<Array<Nullable<Text>>, _>(all.clone().map(|new| new.dead_reason).collect::<Vec<_>>())
        .bind::<Array<Nullable<Timestamptz>>, _>(all.map(|new| new.claimed_until).collect::<Vec<_>>())
        .execute(&mut db)
        .await?;
    Ok(())
}
