//! The backlog of an agent: its first open message.

use std::sync::LazyLock;

use diesel::OptionalExtension;
use diesel::sql_types::{Array, BigInt, Binary, Bool, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::NextMessage;
use domain::id::{AgentId, ChatId};

use crate::chat::row::member_state;
use crate::error::Fault;
use crate::message::cause;
use crate::message::load::{AttemptsRow, MESSAGE, RecordColumns, record_columns, shown_error_column};
use crate::message::row::{DeliveryRow, MessageRow, SenderHandle, is_shown};
use crate::run::Db;
use crate::statement::statement;

type Message = (
    SqlUuid,
    SqlUuid,
    BigInt,
    Text,
    Text,
    SqlUuid,
    Text,
    Text,
    Text,
    Nullable<Text>,
    Timestamptz,
    Timestamptz,
    cause::CauseTypes,
    Nullable<Bool>,
    Nullable<Timestamptz>,
    Nullable<Text>,
);
type Attempts = (Array<Integer>, Array<Timestamptz>, Array<Timestamptz>, Array<Nullable<Binary>>);

/// The agent's membership in the chat with its first open message, its record of that, and earlier
/// attempts. All in one statement, and so on one snapshot in one round trip: agents ask this most
/// often, and most answers are empty.
static NEXT: LazyLock<String> = LazyLock::new(|| {
    let (handle, record, shown) = (SenderHandle::TEXT, record_columns(), is_shown());
    let error = shown_error_column("attempts");
    format!(
        "SELECT participants.status, coalesce(participants.stopped_at, organizations.paused_at) IS NOT NULL, message.*, {record}, earlier.* \
         FROM participants JOIN chats ON chats.id = participants.chat_id AND chats.deleted_at IS NULL \
         LEFT JOIN organizations ON organizations.id = chats.organization_id \
         LEFT JOIN LATERAL (SELECT * FROM deliveries WHERE deliveries.agent_id = participants.participant_id \
         AND deliveries.chat_id = participants.chat_id AND coalesce(participants.stopped_at, organizations.paused_at) IS NULL AND deliveries.processed_at IS NULL \
         AND deliveries.dead_at IS NULL AND deliveries.addressed ORDER BY deliveries.sequence LIMIT 1) AS deliveries ON TRUE \
         LEFT JOIN LATERAL (SELECT {MESSAGE}, {handle} FROM messages \
         WHERE messages.chat_id = deliveries.chat_id AND messages.sequence = deliveries.sequence) AS message ON TRUE \
         LEFT JOIN LATERAL (SELECT array_agg(number), array_agg(started_at), array_agg(completed_at), \
         array_agg(error) FROM (SELECT number, started_at, completed_at, {error} AS error FROM attempts \
         WHERE deliveries.current_attempt > 1 AND {shown} ORDER BY number) AS attempts) \
         AS earlier ON TRUE \
         WHERE participants.chat_id = ? AND participants.participant_id = ? AND participants.left_at IS NULL"
    )
});

pub(super) async fn next_on(mut db: &Db, agent: AgentId, chat: ChatId) -> Result<Option<NextMessage>, Fault> {
    type Row = (String, bool, Option<(MessageRow, DeliveryRow)>, Option<AttemptsRow>);
    let found =
        statement::<(Text, Bool, Nullable<(Message, RecordColumns)>, Nullable<Attempts>)>(NEXT.as_str())
            .bind::<SqlUuid, _>(chat.uuid())
            .bind::<SqlUuid, _>(agent.uuid())
            .get_result::<Row>(&mut db)
            .await
            .optional()?;
    let Some((status, is_stopped, open, attempts)) = found else { return Ok(None) };
    let membership = member_state(&status, is_stopped)?;
    let message = open.map(|(message, record)| {
        let attempts = attempts.map(AttemptsRow::into_attempts).transpose()?;
        message.into_message(vec![record.into_delivery(attempts.unwrap_or_default())?])
    });
    Ok(Some(NextMessage { membership, message: message.transpose()? }))
}
