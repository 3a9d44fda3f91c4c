//! The state of a message at each agent that it is addressed to.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::delivery::{COUNTED_BEFORE, DeliveryReceipt, ReceiptsRefused, may_see_receipts};
use domain::id::{ChatId, MessageId, ParticipantId};

use super::row::ReceiptRow;
use crate::chat::load::standing_on;
use crate::control::row::STOPPED_AND_PAUSED;
use crate::error::Fault;
use crate::message::load::{ERROR, RECORDS, RecordColumns, error_bytes, message_row_on};
use crate::message::row::DeliveryRow;
use crate::row;
use crate::statement::statement;

pub(super) fn receipts_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
    message: MessageId,
) -> Result<Result<Vec<DeliveryReceipt>, ReceiptsRefused>, Fault> {
    if !standing_on(connection, viewer, chat)?.may_read() {
        return Ok(Err(ReceiptsRefused::ChatNotFound));
    }
    let Some(message) = message_row_on(connection, chat, message)? else {
        return Ok(Err(ReceiptsRefused::MessageNotFound));
    };
    let sender = row::participant_id(&message.sender_kind, message.sender_id.0)?;
    if !may_see_receipts(viewer, sender) {
        return Ok(Err(ReceiptsRefused::MessageNotFound));
    }
    let rows = statement!(
        RECORDS, "SELECT ", DeliveryRow::COLUMNS, ", ", ERROR, ", ", ReceiptRow::COLUMNS, ", ", STOPPED_AND_PAUSED,
        ", (SELECT count(*) FROM (SELECT 1 FROM deliveries AS earlier INDEXED BY deliveries_open \
             WHERE earlier.agent_id = deliveries.agent_id AND earlier.chat_id = deliveries.chat_id \
             AND earlier.sequence < deliveries.sequence AND earlier.processed_at IS NULL \
             AND earlier.dead_at IS NULL AND earlier.addressed = 1 LIMIT ? + 0)) \
         FROM record CROSS JOIN deliveries ON deliveries.agent_id = record.agent_id \
             AND deliveries.chat_id = record.chat_id AND deliveries.sequence = record.sequence \
             AND deliveries.addressed = 1 \
         CROSS JOIN agents ON agents.id = deliveries.agent_id \
         CROSS JOIN messages INDEXED BY messages_order ON messages.chat_id = deliveries.chat_id \
             AND messages.sequence = deliveries.sequence ORDER BY deliveries.agent_id"
        => (RecordColumns, Text, Text, Text, Bool, BigInt, Nullable<BigInt>, Bool, Bool, BigInt)
    );
    let list = [(message.chat_id.hex(), message.sequence, &message.mentions)];
    let rows = rows
        .bind::<Text, _>(row::to_json(&list)?)
        .bind::<BigInt, _>(error_bytes())
        .bind::<BigInt, _>(i64::from(COUNTED_BEFORE))
        .load::<ReceiptRow>(connection)?;
    Ok(Ok(rows.into_iter().map(ReceiptRow::into_receipt).collect::<Result<_, _>>()?))
}
