//! Storing one step of an agent's work, whatever it needs.

use diesel::prelude::*;
use diesel::sql_types::{Integer, Nullable, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::{AdvanceDelivery, AdvanceRefused, Advanced, Delivery, MaxAttempts};
use domain::id::{AgentId, MessageId, ParticipantId};
use futures_util::future::{join4, try_join};

use super::save::SteppedRecords;
use crate::account::row::max_attempts;
use crate::chat::activate_on;
use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::lock;
use crate::message::load::{RecordColumns, message_on, record_columns};
use crate::message::row::DeliveryRow;
use crate::run::Db;
use crate::schema::messages;
use crate::statement::statement;

pub(super) async fn advance_on(
    db: &Db,
    command: &AdvanceDelivery,
) -> Result<Result<Advanced, AdvanceRefused>, Fault> {
    let agent = ParticipantId::Agent(command.agent);
    // The later reads see the commits before the first one's lock.
    let (sequence, membership, before, max) = join4(
        sequence_on(db, command),
        membership_on(db, agent, command.chat),
        record_on(db, command.agent, command.message),
        max_attempts_on(db, command.agent),
    )
    .await;
    let Some(own) = membership? else { return Ok(Err(AdvanceRefused::NotFound)) };
    if own.state.is_stopped {
        return Ok(Err(AdvanceRefused::Stopped));
    }
    let Some(sequence) = sequence? else { return Ok(Err(AdvanceRefused::NotFound)) };
    let before = before?;
    if before.is_none() {
        // A new record must not be created during the deletion of the agent.
        lock::pin_agent_on(db, command.agent).await?;
        if membership_on(db, agent, command.chat).await?.is_none() {
            return Ok(Err(AdvanceRefused::NotFound));
        }
    }
    let before = before.unwrap_or_else(|| Delivery::unaddressed(command.agent));
    let after = match before.clone().step(&command.step, max?, command.now) {
        Ok(after) => after,
        Err(refused) => return Ok(Err(refused.into())),
    };
    let key = (command.agent.uuid(), command.chat.uuid(), sequence);
    let mut stepped = SteppedRecords::default();
    stepped.add(key, &before, after.clone())?;
    try_join(activate_on(db, agent, command.chat), stepped.save_on(db)).await?;
    let message = message_on(db, command.chat, command.message).await?;
    let message =
        message.ok_or_else(|| Fault::Row("the message disappeared within its own transaction".to_owned()))?;
    Ok(Ok(Advanced { message, delivery: after }))
}

/// The message's sequence in its chat. The message is locked against other steps, so that the event
/// of a step shows every step announced before.
async fn sequence_on(mut db: &Db, command: &AdvanceDelivery) -> Result<Option<i64>, Fault> {
    Ok(messages::table
        .find(command.message.uuid())
        .filter(messages::chat_id.eq(command.chat.uuid()))
        .select(messages::sequence)
        .for_no_key_update()
        .first(&mut db)
        .await
        .optional()?)
}

/// The limit of the agent.
async fn max_attempts_on(mut db: &Db, agent: AgentId) -> Result<Option<MaxAttempts>, Fault> {
    let max = statement::<Nullable<Integer>>("SELECT max_attempts FROM agents WHERE id = ?")
        .bind::<SqlUuid, _>(agent.uuid())
        .get_result::<Option<i32>>(&mut db)
        .await
        .optional()?;
    max.flatten().map(max_attempts).transpose()
}

/// The record with its newest attempt only, which is all that a step needs. A delivery can be marked
/// without the message's lock, so the record has its own.
pub(crate) async fn record_on(
    mut db: &Db,
    agent: AgentId,
    message: MessageId,
) -> Result<Option<Delivery>, Fault> {
    let record = statement::<RecordColumns>(format!(
        "SELECT {} FROM messages JOIN deliveries ON deliveries.agent_id = ? \
         AND deliveries.chat_id = messages.chat_id AND deliveries.sequence = messages.sequence \
         WHERE messages.id = ? FOR NO KEY UPDATE OF deliveries",
        record_columns(),
    ));
    let record = record
        .bind::<SqlUuid, _>(agent.uuid())
        .bind::<SqlUuid, _>(message.uuid())
        .get_result::<DeliveryRow>(&mut db)
        .await
        .optional()?;
    record.map(|record| record.into_delivery(Vec::new())).transpose()
}
