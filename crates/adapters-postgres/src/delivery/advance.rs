//! Storing one step of an agent's work, whatever it needs.

use std::sync::LazyLock;

use diesel::prelude::*;
use diesel::sql_types::{Bool, Integer, Nullable, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::{
    AdvanceDelivery, AdvanceRefused, Advanced, Claims, Delivery, MaxAttempts, RenewClaims,
};
use domain::id::{AgentId, MessageId, ParticipantId};
use futures_util::future::{join4, try_join};

use super::save::SteppedRecords;
use crate::account::row::StepSettings;
use crate::chat::activate_on;
use crate::chat::load::membership_on;
use crate::error::Fault;
use crate::lock;
use crate::message::load::{RecordColumns, message_on, record_columns};
use crate::message::row::DeliveryRow;
use crate::message::row::status::PROCESSING;
use crate::row::At;
use crate::run::Db;
use crate::schema::messages;
use crate::statement::statement;

pub(super) async fn advance_on(
    db: &Db,
    command: &AdvanceDelivery,
) -> Result<Result<Advanced, AdvanceRefused>, Fault> {
    let agent = ParticipantId::Agent(command.agent);
    // The later reads see the commits before the first one's lock.
    let (sequence, membership, before, settings) = join4(
        sequence_on(db, command),
        membership_on(db, agent, command.chat),
        record_on(db, command.agent, command.message),
        settings_on(db, command.agent),
    )
    .await;
    let Some(own) = membership? else { return Ok(Err(AdvanceRefused::NotFound)) };
    if own.state.is_halted() {
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
    let (max, claims) = settings?;
    let after = match before.clone().step(&command.step, command.terms(max, claims), command.now) {
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
    Ok(Ok(command.advanced(message, after)))
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

/// The settings of the agent.
async fn settings_on(mut db: &Db, agent: AgentId) -> Result<(Option<MaxAttempts>, Claims), Fault> {
    const SETTINGS: &str = "SELECT max_attempts, exclusive_claims FROM agents WHERE id = ?";
    let found = statement::<(Nullable<Integer>, Bool)>(SETTINGS)
        .bind::<SqlUuid, _>(agent.uuid())
        .get_result::<StepSettings>(&mut db)
        .await
        .optional()?;
    found.unwrap_or_default().into_settings()
}

/// Deliveries on which somebody works at this moment are left out: they are being closed, or renewed as well.
static RENEW: LazyLock<String> = LazyLock::new(|| {
    format!(
        "UPDATE deliveries SET claimed_until = ? FROM (SELECT agent_id, chat_id, sequence FROM deliveries \
         WHERE agent_id = ? AND chat_id = ? AND processed_at IS NULL AND dead_at IS NULL AND current_attempt > 0 \
         AND claimed_until > ? AND claimed_until <= ? AND {PROCESSING} AND CASE WHEN ?::uuid IS NULL \
         THEN started_at > ? ELSE sequence = \
         (SELECT sequence FROM messages WHERE messages.id = ? AND messages.chat_id = deliveries.chat_id) END \
         ORDER BY sequence FOR NO KEY UPDATE OF deliveries SKIP LOCKED) AS renewed \
         WHERE deliveries.agent_id = renewed.agent_id AND deliveries.chat_id = renewed.chat_id \
         AND deliveries.sequence = renewed.sequence"
    )
});

/// Renews claims, except those that began or were renewed a moment ago.
pub(super) async fn renew_on(mut db: &Db, command: &RenewClaims) -> Result<(), Fault> {
    let message = command.message.map(MessageId::uuid);
    statement::<()>(RENEW.as_str())
        .bind::<Timestamptz, _>(At(command.until))
        .bind::<SqlUuid, _>(command.agent.uuid())
        .bind::<SqlUuid, _>(command.chat.uuid())
        .bind::<Timestamptz, _>(At(command.now))
        .bind::<Timestamptz, _>(At(command.fresh_after))
        .bind::<Nullable<SqlUuid>, _>(message)
        .bind::<Timestamptz, _>(At(command.begun_after))
        .bind::<Nullable<SqlUuid>, _>(message)
        .execute(&mut db)
        .await?;
    Ok(())
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
