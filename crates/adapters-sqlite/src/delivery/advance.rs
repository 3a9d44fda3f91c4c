//! Storing one step of an agent's work.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::chat::ParticipantStatus;
use domain::delivery::{AdvanceDelivery, AdvanceRefused, Advanced, Attempt, Delivery};
use domain::id::ParticipantId;
use domain::time::Timestamp;

use crate::chat::activate_on;
use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::message::load::{AttemptRow, DeliveryRow, HeadColumns, Records, message_row_on, messages_on};
use crate::message::row::{current_attempt_column, number_column};
use crate::row;
use crate::schema::deliveries;
use crate::statement::statement;

pub(super) fn advance_on(
    connection: &mut SqliteConnection,
    command: &AdvanceDelivery,
) -> Result<Result<Advanced, AdvanceRefused>, Fault> {
    let agent = ParticipantId::Agent(command.agent);
    let Some((_, membership)) = membership_on(connection, agent, command.chat)? else {
        return Ok(Err(AdvanceRefused::NotFound));
    };
    let Some(message) = message_row_on(connection, command.chat, command.message)? else {
        return Ok(Err(AdvanceRefused::NotFound));
    };
    let before = record_on(connection, command)?.unwrap_or_else(|| Delivery::unaddressed(command.agent));
    let known = before.attempts().to_vec();
    let Ok(after) = before.step(&command.step, command.now) else {
        return Ok(Err(AdvanceRefused::NoActiveAttempt));
    };
    if membership == ParticipantStatus::Inactive {
        activate_on(connection, agent, command.chat)?;
    }
    save_on(connection, command, message.sequence, &after)?;
    for attempt in after.attempts().iter().filter(|attempt| !known.contains(attempt)) {
        save_attempt_on(connection, command, attempt)?;
    }
    let message = messages_on(connection, vec![message], Records::All)?.pop();
    let message = message.ok_or_else(|| Fault::Row("a message that went within one change".to_owned()))?;
    Ok(Ok(Advanced { message, delivery: after }))
}

/// The record with its newest attempt only, which is all that a step needs.
fn record_on(
    connection: &mut SqliteConnection,
    command: &AdvanceDelivery,
) -> Result<Option<Delivery>, Fault> {
    let key = (row::bytes(command.message.uuid()), row::bytes(command.agent.uuid()));
    let found = deliveries::table
        .find((&key.0, &key.1))
        .select(DeliveryRow::as_select())
        .get_result(connection)
        .optional()?;
    let Some(found) = found else { return Ok(None) };
    let newest = statement!(
        "SELECT number, status, started_at, completed_at, error FROM attempts \
         WHERE message_id = ? AND agent_id = ? ORDER BY number DESC LIMIT 1"
        => (HeadColumns, Nullable<Text>)
    );
    let newest = newest
        .bind::<Binary, _>(&key.0)
        .bind::<Binary, _>(&key.1)
        .get_result::<AttemptRow>(connection)
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
    statement!(
        "INSERT INTO deliveries (message_id, agent_id, chat_id, sequence, addressed, \
         status, current_attempt, delivered_at, processed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (message_id, agent_id) DO UPDATE SET status = excluded.status, \
         current_attempt = excluded.current_attempt, delivered_at = excluded.delivered_at, \
         processed_at = excluded.processed_at"
    )
    .bind::<Binary, _>(row::bytes(command.message.uuid()))
    .bind::<Binary, _>(row::bytes(command.agent.uuid()))
    .bind::<Binary, _>(row::bytes(command.chat.uuid()))
    .bind::<BigInt, _>(sequence)
    .bind::<Bool, _>(after.is_addressed())
    .bind::<Text, _>(after.status().as_str())
    .bind::<Integer, _>(current_attempt_column(after)?)
    .bind::<Nullable<BigInt>, _>(after.delivered_at().map(Timestamp::micros))
    .bind::<Nullable<BigInt>, _>(after.processed_at().map(Timestamp::micros))
    .execute(connection)?;
    Ok(())
}

fn save_attempt_on(
    connection: &mut SqliteConnection,
    command: &AdvanceDelivery,
    attempt: &Attempt,
) -> Result<(), Fault> {
    statement!(
        "INSERT INTO attempts (message_id, agent_id, number, started_at, status, completed_at, error) \
         VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (message_id, agent_id, number) DO UPDATE SET \
         status = excluded.status, completed_at = excluded.completed_at, error = excluded.error"
    )
    .bind::<Binary, _>(row::bytes(command.message.uuid()))
    .bind::<Binary, _>(row::bytes(command.agent.uuid()))
    .bind::<Integer, _>(number_column(attempt.number)?)
    .bind::<BigInt, _>(attempt.started_at.micros())
    .bind::<Text, _>(attempt.status().as_str())
    .bind::<Nullable<BigInt>, _>(attempt.completed_at().map(Timestamp::micros))
    .bind::<Nullable<Text>, _>(attempt.error())
    .execute(connection)?;
    Ok(())
}
