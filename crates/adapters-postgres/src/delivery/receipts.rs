//! The state of a message at each agent that it is addressed to.

use std::sync::LazyLock;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::delivery::{COUNTED_BEFORE, DeliveryReceipt, ReceiptsRefused, may_see_receipts};
use domain::id::{ChatId, MessageId, ParticipantId};
use futures_util::future::try_join3;
use uuid::Uuid;

use super::row::ReceiptRow;
use crate::chat::load::standing_on;
use crate::control::row::STOPPED_AND_PAUSED;
use crate::error::Fault;
use crate::message::load::{RecordColumns, Records, record_columns};
use crate::row;
use crate::run::Db;
use crate::schema::messages;
use crate::statement::statement;

static RECEIPTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {}, {}, {}, (SELECT count(*) FROM (SELECT 1 FROM deliveries AS earlier \
             WHERE earlier.agent_id = deliveries.agent_id AND earlier.chat_id = deliveries.chat_id \
             AND earlier.sequence < deliveries.sequence AND earlier.processed_at IS NULL \
             AND earlier.dead_at IS NULL AND earlier.addressed LIMIT ?) AS counted) \
         FROM messages {} \
         CROSS JOIN LATERAL (SELECT * FROM agents WHERE agents.id = deliveries.agent_id OFFSET 0) AS agents \
         WHERE messages.id = ? AND deliveries.addressed ORDER BY deliveries.agent_id",
        record_columns(),
        ReceiptRow::COLUMNS,
        STOPPED_AND_PAUSED,
        Records::All.joined(),
    )
});

pub(super) async fn receipts_on(
    db: &Db,
    viewer: ParticipantId,
    chat: ChatId,
    message: MessageId,
) -> Result<Result<Vec<DeliveryReceipt>, ReceiptsRefused>, Fault> {
    let (standing, sender, rows) =
        try_join3(standing_on(db, viewer, chat), sender_on(db, chat, message), rows_on(db, message)).await?;
    if !standing.may_read() {
        return Ok(Err(ReceiptsRefused::ChatNotFound));
    }
    match sender {
        Some(sender) if may_see_receipts(viewer, sender) => {
            Ok(Ok(rows.into_iter().map(ReceiptRow::into_receipt).collect::<Result<_, _>>()?))
        }
        _ => Ok(Err(ReceiptsRefused::MessageNotFound)),
    }
}

/// The sender of the message, if the chat has it.
async fn sender_on(mut db: &Db, chat: ChatId, message: MessageId) -> Result<Option<ParticipantId>, Fault> {
    let found = messages::table.find(message.uuid()).filter(messages::chat_id.eq(chat.uuid()));
    let found = found.select((messages::sender_kind, messages::sender_id));
    let found = found.first::<(String, Uuid)>(&mut db).await.optional()?;
    found.map(|(kind, id)| row::participant_id(&kind, id)).transpose()
}

async fn rows_on(mut db: &Db, message: MessageId) -> Result<Vec<ReceiptRow>, Fault> {
    let rows = statement::<(
        RecordColumns,
        Text,
        Text,
        Text,
        Bool,
        Timestamptz,
        Nullable<Timestamptz>,
        Bool,
        Bool,
        BigInt,
    )>(RECEIPTS.as_str())
    .bind::<BigInt, _>(i64::from(COUNTED_BEFORE))
    .bind::<SqlUuid, _>(message.uuid());
    Ok(rows.load(&mut db).await?)
}
