//! Storing one step of an agent's work.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::delivery::{AdvanceDelivery, AdvanceRefused, Advanced, Attempt, Delivery, DeliveryStep};
use domain::id::ParticipantId;
use domain::time::Timestamp;

use crate::chat::activate_on;
use crate::chat::row::membership_on;
use crate::error::Fault;
use crate::message::load::{AttemptRow, DeliveryRow, message_on};
use crate::row;
use crate::schema::{attempts, deliveries, messages};

pub(super) fn advance_on(
    connection: &mut SqliteConnection,
    command: &AdvanceDelivery,
) -> Result<Result<Advanced, AdvanceRefused>, Fault> {
    let agent = ParticipantId::Agent(command.agent);
    if membership_on(connection, agent, command.chat)?.is_none() {
        return Ok(Err(AdvanceRefused::NotFound));
    }
    let sequence = messages::table
        .find(row::bytes(command.message.uuid()))
        .filter(messages::chat_id.eq(row::bytes(command.chat.uuid())))
        .select(messages::sequence)
        .first::<i64>(connection)
        .optional()?;
    let Some(sequence) = sequence else { return Ok(Err(AdvanceRefused::NotFound)) };
    let before = record_on(connection, command)?.unwrap_or_else(|| Delivery::new(command.agent, false));
    let known = before.attempts.clone();
    let after = match &command.step {
        DeliveryStep::Begin => Ok(before.begin_attempt(command.now)),
        DeliveryStep::Succeed => before.succeed(command.now),
        DeliveryStep::Fail(error) => before.fail(error, command.now),
    };
    let Ok(after) = after else { return Ok(Err(AdvanceRefused::NoActiveAttempt)) };
    activate_on(connection, agent, command.chat)?;
    save_on(connection, command, sequence, &after)?;
    for attempt in after.attempts.iter().filter(|attempt| !known.contains(attempt)) {
        save_attempt_on(connection, command, attempt)?;
    }
    let message = message_on(connection, command.chat, command.message)?;
    let message = message.ok_or_else(|| Fault::Row("a message that went within one change".to_owned()))?;
    Ok(Ok(Advanced { message, delivery: after }))
}

/// The record with its newest attempt only, which is all that a step looks at.
fn record_on(
    connection: &mut SqliteConnection,
    command: &AdvanceDelivery,
) -> Result<Option<Delivery>, Fault> {
    let key = (row::bytes(command.message.uuid()), row::bytes(command.agent.uuid()));
    let found = deliveries::table
        .find((&key.0, &key.1))
        .select(DeliveryRow::as_select())
        .first(connection)
        .optional()?;
    let Some(found) = found else { return Ok(None) };
    let newest = attempts::table
        .filter(attempts::message_id.eq(&key.0))
        .filter(attempts::agent_id.eq(&key.1))
        .order(attempts::number.desc())
        .select(AttemptRow::as_select())
        .first(connection)
        .optional()?;
    let newest = newest.map(AttemptRow::into_attempt).transpose()?;
    found.into_delivery(newest.into_iter().collect()).map(Some)
}

fn save_on(
    connection: &mut SqliteConnection,
    command: &AdvanceDelivery,
    sequence: i64,
    after: &Delivery,
) -> Result<(), Fault> {
    let state = (
        deliveries::status.eq(after.status.as_str()),
        deliveries::current_attempt.eq(number(after.current_attempt())?),
        deliveries::delivered_at.eq(after.delivered_at.map(Timestamp::micros)),
        deliveries::processed_at.eq(after.processed_at.map(Timestamp::micros)),
    );
    diesel::insert_into(deliveries::table)
        .values((
            deliveries::message_id.eq(row::bytes(command.message.uuid())),
            deliveries::agent_id.eq(row::bytes(command.agent.uuid())),
            deliveries::chat_id.eq(row::bytes(command.chat.uuid())),
            deliveries::sequence.eq(sequence),
            deliveries::addressed.eq(after.addressed),
            state,
        ))
        .on_conflict((deliveries::message_id, deliveries::agent_id))
        .do_update()
        .set(state)
        .execute(connection)?;
    Ok(())
}

fn save_attempt_on(
    connection: &mut SqliteConnection,
    command: &AdvanceDelivery,
    attempt: &Attempt,
) -> Result<(), Fault> {
    let state = (
        attempts::status.eq(attempt.status.as_str()),
        attempts::completed_at.eq(attempt.completed_at.map(Timestamp::micros)),
        attempts::error.eq(attempt.error.as_deref()),
    );
    diesel::insert_into(attempts::table)
        .values((
            attempts::message_id.eq(row::bytes(command.message.uuid())),
            attempts::agent_id.eq(row::bytes(command.agent.uuid())),
            attempts::number.eq(number(attempt.number.0)?),
            attempts::started_at.eq(attempt.started_at.micros()),
            state,
        ))
        .on_conflict((attempts::message_id, attempts::agent_id, attempts::number))
        .do_update()
        .set(state)
        .execute(connection)?;
    Ok(())
}

fn number(attempt: u32) -> Result<i32, Fault> {
    i32::try_from(attempt).map_err(|_| Fault::Row(format!("the attempt {attempt}")))
}
