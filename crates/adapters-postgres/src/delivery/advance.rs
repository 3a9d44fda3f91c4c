//! Storing one step of an agent's work, whatever it needs.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::delivery::{AdvanceDelivery, AdvanceRefused, Advanced, Attempt, Delivery};
use domain::id::ParticipantId;
use futures_util::future::{join3, try_join3};

use crate::chat::activate_on;
use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::lock;
use crate::message::load::{AttemptRow, DeliveryRow, message_on};
use crate::message::row::{current_attempt_column, number_column};
use crate::row::At;
use crate::run::Db;
use crate::schema::{attempts, deliveries, messages};

pub(super) async fn advance_on(
    db: &Db,
    command: &AdvanceDelivery,
) -> Result<Result<Advanced, AdvanceRefused>, Fault> {
    let agent = ParticipantId::Agent(command.agent);
    // The later reads see the commits before the first one's lock.
    let (place, membership, before) =
        join3(place_on(db, command), membership_on(db, agent, command.chat), record_on(db, command)).await;
    let (Some(place), Some(_)) = (place?, membership?) else { return Ok(Err(AdvanceRefused::NotFound)) };
    let before = before?;
    if before.is_none() {
        // A new record must not be created during the deletion of the agent.
        lock::agent_stays_on(db, command.agent).await?;
        if membership_on(db, agent, command.chat).await?.is_none() {
            return Ok(Err(AdvanceRefused::NotFound));
        }
    }
    let before = before.unwrap_or_else(|| Delivery::unaddressed(command.agent));
    let known = before.attempts().to_vec();
    let Ok(after) = before.step(&command.step, command.now) else {
        return Ok(Err(AdvanceRefused::NoActiveAttempt));
    };
    let changed = after.attempts().iter().filter(|attempt| !known.contains(attempt)).collect::<Vec<_>>();
    try_join3(
        activate_on(db, agent, command.chat),
        save_on(db, command, place, &after),
        save_attempts_on(db, command, &changed),
    )
    .await?;
    let message = message_on(db, command.chat, command.message).await?;
    let message = message.ok_or_else(|| Fault::Row("a message that went within one change".to_owned()))?;
    Ok(Ok(Advanced { message, delivery: after }))
}

/// The message's sequence in its chat. The message is locked against other steps, so that the event
/// of a step shows every step announced before.
async fn place_on(mut db: &Db, command: &AdvanceDelivery) -> Result<Option<i64>, Fault> {
    Ok(messages::table
        .find(command.message.uuid())
        .filter(messages::chat_id.eq(command.chat.uuid()))
        .select(messages::sequence)
        .for_no_key_update()
        .first(&mut db)
        .await
        .optional()?)
}

/// The record with its newest attempt only, which is all that a step needs.
async fn record_on(mut db: &Db, command: &AdvanceDelivery) -> Result<Option<Delivery>, Fault> {
    let (message, agent) = (command.message.uuid(), command.agent.uuid());
    // A delivery can be marked without the message's lock, so the record has its own.
    let found = deliveries::table
        .find((message, agent))
        .select(DeliveryRow::as_select())
        .for_no_key_update()
        .first::<DeliveryRow>(&mut db)
        .await
        .optional()?;
    let Some(record) = found else { return Ok(None) };
    let newest = attempts::table
        .filter(attempts::message_id.eq(message))
        .filter(attempts::agent_id.eq(agent))
        .order(attempts::number.desc())
        .select(AttemptRow::as_select())
        .first::<AttemptRow>(&mut db)
        .await
        .optional()?;
    let newest = newest.map(AttemptRow::into_attempt).transpose()?;
    record.into_delivery(newest.into_iter().collect()).map(Some)
}

async fn save_on(mut db: &Db, command: &AdvanceDelivery, place: i64, after: &Delivery) -> Result<(), Fault> {
    let state = (
        deliveries::status.eq(after.status().as_str()),
        deliveries::current_attempt.eq(current_attempt_column(after)?),
        deliveries::delivered_at.eq(after.delivered_at().map(At)),
        deliveries::processed_at.eq(after.processed_at().map(At)),
    );
    diesel::insert_into(deliveries::table)
        .values((
            deliveries::message_id.eq(command.message.uuid()),
            deliveries::agent_id.eq(command.agent.uuid()),
            deliveries::chat_id.eq(command.chat.uuid()),
            deliveries::sequence.eq(place),
            deliveries::addressed.eq(after.is_addressed()),
            state,
        ))
        .on_conflict((deliveries::message_id, deliveries::agent_id))
        .do_update()
        .set(state)
        .execute(&mut db)
        .await?;
    Ok(())
}

async fn save_attempts_on(mut db: &Db, command: &AdvanceDelivery, changed: &[&Attempt]) -> Result<(), Fault> {
    for attempt in changed {
        let state = (
            attempts::status.eq(attempt.status().as_str()),
            attempts::completed_at.eq(attempt.completed_at().map(At)),
            attempts::error.eq(attempt.error()),
        );
        diesel::insert_into(attempts::table)
            .values((
                attempts::message_id.eq(command.message.uuid()),
                attempts::agent_id.eq(command.agent.uuid()),
                attempts::number.eq(number_column(attempt.number)?),
                attempts::started_at.eq(At(attempt.started_at)),
                state,
            ))
            .on_conflict((attempts::message_id, attempts::agent_id, attempts::number))
            .do_update()
            .set(state)
            .execute(&mut db)
            .await?;
    }
    Ok(())
}
