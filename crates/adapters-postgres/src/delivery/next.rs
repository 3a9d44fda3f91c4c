//! The backlog of an agent: its first open message.

use std::sync::LazyLock;

use diesel::OptionalExtension;
use diesel::sql_types::{BigInt, Bool, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::NextMessage;
use domain::id::{AgentId, ChatId};
use domain::time::Timestamp;

use crate::chat::row::member_state;
use crate::error::Fault;
use crate::message::load::{RecordColumns, record_columns, with_record_on};
use crate::message::row::DeliveryRow;
use crate::message::row::status::UNCLAIMED;
use crate::row::At;
use crate::run::Db;
use crate::statement::statement;

/// The agent's membership in the chat, with its record of the first open message that is not claimed. Agents ask this most
/// often, and most answers are empty. PostgreSQL spends most of its time on preparing the execution for each table, so
/// those of the message are left to [`with_record_on`].
static OPEN: LazyLock<String> = LazyLock::new(|| {
    let record = record_columns();
    let stopped = "coalesce(participants.stopped_at, participants.agent_paused_at, organizations.paused_at)";
    format!(
        "SELECT participants.status, {stopped} IS NOT NULL, deliveries.sequence, {record} \
         FROM participants JOIN chats ON chats.id = participants.chat_id AND chats.deleted_at IS NULL \
         LEFT JOIN organizations ON organizations.id = chats.organization_id \
         LEFT JOIN LATERAL (SELECT * FROM deliveries WHERE deliveries.agent_id = participants.participant_id \
         AND deliveries.chat_id = participants.chat_id AND {stopped} IS NULL AND deliveries.processed_at IS NULL \
         AND deliveries.dead_at IS NULL AND deliveries.addressed AND {UNCLAIMED} \
         ORDER BY deliveries.sequence LIMIT 1) AS deliveries ON TRUE \
         WHERE participants.chat_id = ? AND participants.participant_id = ? AND participants.left_at IS NULL"
    )
});

/// How often a message that is deleted between the two statements is passed over.
const TRIES: u32 = 10;

pub(super) async fn next_on(
    mut db: &Db,
    agent: AgentId,
    chat: ChatId,
    now: Timestamp,
) -> Result<Option<NextMessage>, Fault> {
    for _ in 0..TRIES {
        let found = statement::<(Text, Bool, Nullable<(BigInt, RecordColumns)>)>(OPEN.as_str())
            .bind::<Timestamptz, _>(At(now))
            .bind::<SqlUuid, _>(chat.uuid())
            .bind::<SqlUuid, _>(agent.uuid())
            .get_result::<(String, bool, Option<(i64, DeliveryRow)>)>(&mut db)
            .await
            .optional()?;
        let Some((status, is_stopped, open)) = found else { return Ok(None) };
        let membership = member_state(&status, is_stopped, false)?;
        let Some((sequence, record)) = open else {
            return Ok(Some(NextMessage { membership, message: None }));
        };
        let message = with_record_on(db, chat, sequence, record).await?;
        // A message that was deleted meanwhile is not open any more.
        if message.is_some() {
            return Ok(Some(NextMessage { membership, message }));
        }
    }
    Err(Fault::Row(format!("open records of {agent} in {chat} without messages")))
}
