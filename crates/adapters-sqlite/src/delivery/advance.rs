//! Storing one step of an agent's work.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::chat::ParticipantStatus;
use domain::delivery::{
    AdvanceDelivery, AdvanceRefused, Advanced, Claims, Delivery, MaxAttempts, RenewClaims,
};
use domain::id::ParticipantId;

use crate::account::row::StepSettings;
use crate::chat::activate_on;
use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::message::load::{ERROR, RecordColumns, Records, error_bytes, message_row_on, messages_on};
use crate::message::row::{DeliveryRow, EarlierAttempt, MessageRow, StepColumns, status};
use crate::row::{At, Id};
use crate::statement::statement;

pub(super) fn advance_on(
    connection: &mut SqliteConnection,
    command: &AdvanceDelivery,
) -> Result<Result<Advanced, AdvanceRefused>, Fault> {
    let agent = ParticipantId::Agent(command.agent);
    let Some(own) = membership_on(connection, agent, command.chat)? else {
        return Ok(Err(AdvanceRefused::NotFound));
    };
    if own.state.is_halted() {
        return Ok(Err(AdvanceRefused::Stopped));
    }
    let Some(message) = message_row_on(connection, command.chat, command.message)? else {
        return Ok(Err(AdvanceRefused::NotFound));
    };
    let stored = record_on(connection, Id(command.agent.uuid()), &message)?;
    let before = stored.unwrap_or_else(|| Delivery::unaddressed(command.agent));
    let (max, claims) = settings_on(connection, Id(command.agent.uuid()))?;
    let after = match before.clone().step(&command.step, command.terms(max, claims), command.now) {
        Ok(after) => after,
        Err(refused) => return Ok(Err(refused.into())),
    };
    if own.state.status == ParticipantStatus::Inactive {
        activate_on(connection, agent, command.chat)?;
    }
    if let Some(earlier) = EarlierAttempt::between(&before, &after, true)? {
        save_earlier_on(connection, &message, &after, &earlier)?;
    }
    save_on(connection, &message, &after)?;
    let message = messages_on(connection, vec![message], Records::All)?.pop();
    let message =
        message.ok_or_else(|| Fault::Row("the message disappeared within its own transaction".to_owned()))?;
    Ok(Ok(command.advanced(message, after)))
}

/// The settings of the agent.
fn settings_on(connection: &mut SqliteConnection, agent: Id) -> Result<(Option<MaxAttempts>, Claims), Fault> {
    let found = statement!(
        "SELECT max_attempts, exclusive_claims FROM agents WHERE id = ?" => (Nullable<Integer>, Bool)
    );
    let found = found.bind::<Binary, _>(agent).get_result::<StepSettings>(connection).optional()?;
    found.unwrap_or_default().into_settings()
}

/// Renews claims, except those that began or were renewed a moment ago.
pub(super) fn renew_on(connection: &mut SqliteConnection, command: &RenewClaims) -> Result<(), Fault> {
    statement!(
        "UPDATE deliveries INDEXED BY deliveries_at_work SET claimed_until = ? \
         WHERE agent_id = ? AND chat_id = ? AND processed_at IS NULL AND dead_at IS NULL AND current_attempt > 0 \
         AND claimed_until > ? AND claimed_until <= ? AND ", status::PROCESSING, " \
         AND CASE WHEN ? IS NULL THEN started_at > ? ELSE sequence = \
         (SELECT sequence FROM messages WHERE id = ? AND messages.chat_id = deliveries.chat_id) END"
    )
    .bind::<BigInt, _>(At(command.until))
    .bind::<Binary, _>(Id(command.agent.uuid()))
    .bind::<Binary, _>(Id(command.chat.uuid()))
    .bind::<BigInt, _>(At(command.now))
    .bind::<BigInt, _>(At(command.fresh_after))
    .bind::<Nullable<Binary>, _>(command.message.map(|id| Id(id.uuid())))
    .bind::<BigInt, _>(At(command.begun_after))
    .bind::<Nullable<Binary>, _>(command.message.map(|id| Id(id.uuid())))
    .execute(connection)?;
    Ok(())
}

/// The record with its newest attempt only, which is all that a step needs.
pub(crate) fn record_on(
    connection: &mut SqliteConnection,
    agent: Id,
    message: &MessageRow,
) -> Result<Option<Delivery>, Fault> {
    let found = statement!(
        "SELECT ", DeliveryRow::COLUMNS, ", ", ERROR, " FROM deliveries \
         WHERE agent_id = ? AND chat_id = ? AND sequence = ?" => RecordColumns
    );
    let found = found
        .bind::<BigInt, _>(error_bytes())
        .bind::<Binary, _>(agent)
        .bind::<Binary, _>(message.chat_id)
        .bind::<BigInt, _>(message.sequence)
        .get_result::<DeliveryRow>(connection)
        .optional()?;
    found.map(|record| record.into_delivery(Vec::new())).transpose()
}

/// Copies the newest attempt before the record gets the next one. The record has the complete error
/// of an attempt that had failed before.
fn save_earlier_on(
    connection: &mut SqliteConnection,
    message: &MessageRow,
    after: &Delivery,
    earlier: &EarlierAttempt,
) -> Result<(), Fault> {
    statement!(
        "INSERT INTO attempts (agent_id, chat_id, sequence, number, started_at, completed_at, error) \
         SELECT agent_id, chat_id, sequence, ?, ?, ?, coalesce(?, error) FROM deliveries \
         WHERE agent_id = ? AND chat_id = ? AND sequence = ?"
    )
    .bind::<Integer, _>(earlier.number)
    .bind::<BigInt, _>(earlier.started_at)
    .bind::<BigInt, _>(earlier.completed_at)
    .bind::<Nullable<Text>, _>(earlier.error.as_deref())
    .bind::<Binary, _>(Id(after.agent().uuid()))
    .bind::<Binary, _>(message.chat_id)
    .bind::<BigInt, _>(message.sequence)
    .execute(connection)?;
    Ok(())
}

/// Writes the record. The error of an attempt that had ended before is complete in its row only.
fn save_on(connection: &mut SqliteConnection, message: &MessageRow, after: &Delivery) -> Result<(), Fault> {
    let columns = StepColumns::of(after)?;
    statement!(
        "INSERT INTO deliveries (agent_id, chat_id, sequence, addressed, current_attempt, started_at, \
         processed_at, failed_at, error, dead_at, dead_reason, claimed_until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (agent_id, chat_id, sequence) DO UPDATE SET current_attempt = excluded.current_attempt, \
         started_at = excluded.started_at, processed_at = excluded.processed_at, \
         failed_at = excluded.failed_at, error = CASE WHEN current_attempt = excluded.current_attempt \
             THEN coalesce(error, excluded.error) ELSE excluded.error END, dead_at = excluded.dead_at, \
         dead_reason = excluded.dead_reason, replaced_by = NULL, held_by = NULL, claimed_until = excluded.claimed_until"
    )
    .bind::<Binary, _>(Id(after.agent().uuid()))
    .bind::<Binary, _>(message.chat_id)
    .bind::<BigInt, _>(message.sequence)
    .bind::<Bool, _>(after.is_addressed())
    .bind::<Integer, _>(columns.current_attempt)
    .bind::<Nullable<BigInt>, _>(columns.started_at)
    .bind::<Nullable<BigInt>, _>(columns.processed_at)
    .bind::<Nullable<BigInt>, _>(columns.failed_at)
    .bind::<Nullable<Text>, _>(columns.error)
    .bind::<Nullable<BigInt>, _>(columns.dead_at)
    .bind::<Nullable<Text>, _>(columns.dead_reason)
    .bind::<Nullable<BigInt>, _>(columns.claimed_until)
    .execute(connection)?;
    Ok(())
}
