//! Checks of texts after their deadlines.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{ChatId, MessageId};
use domain::message::{CheckDeadline, DeadlineOutcome, DueText};
use domain::time::Timestamp;
use uuid::Uuid;

use super::batch::append_on;
use super::load::message_on;
use crate::chat::load::{locked_chat_on, participants_on};
use crate::error::Fault;
use crate::lock;
use crate::row::At;
use crate::run::Db;
use crate::schema::messages;
use crate::statement::statement;

/// Texts whose deadline has passed, by deadline and id.
const DUE: &str = "SELECT id, chat_id, respond_by FROM messages \
     WHERE respond_by IS NOT NULL AND deadline_checked_at IS NULL AND respond_by <= ? \
     AND (respond_by, id) > (?, ?) ORDER BY respond_by, id LIMIT ?";

pub(super) async fn due_on(
    mut db: &Db,
    now: Timestamp,
    after: Option<(Timestamp, MessageId)>,
    limit: u32,
) -> Result<Vec<DueText>, Fault> {
    let (since, after) = after.unwrap_or((Timestamp::from_micros(i64::MIN), MessageId::NIL));
    let rows = statement::<(SqlUuid, SqlUuid, Timestamptz)>(DUE)
        .bind::<Timestamptz, _>(At(now))
        .bind::<Timestamptz, _>(At(since))
        .bind::<SqlUuid, _>(after.uuid())
        .bind::<BigInt, _>(i64::from(limit))
        .load::<(Uuid, Uuid, At)>(&mut db)
        .await?;
    let due = |(message, chat, by): (Uuid, Uuid, At)| DueText {
        message: MessageId::new(message),
        chat: ChatId::new(chat),
        respond_by: by.0,
    };
    Ok(rows.into_iter().map(due).collect())
}

pub(super) async fn check_on(mut db: &Db, command: &CheckDeadline) -> Result<DeadlineOutcome, Fault> {
    let text = command.text;
    let chat = locked_chat_on(db, text.chat).await?;
    lock::message_on(db, text.message).await?;
    let unchecked = messages::table.find(text.message.uuid()).filter(messages::deadline_checked_at.is_null());
    let marked = diesel::update(unchecked)
        .set(messages::deadline_checked_at.eq(At(command.now)))
        .execute(&mut db)
        .await?;
    if marked == 0 {
        return Ok(DeadlineOutcome::Gone);
    }
    let Some(message) = message_on(db, text.chat, text.message).await? else {
        return Ok(DeadlineOutcome::Gone);
    };
    if chat.is_none() {
        return Ok(DeadlineOutcome::Settled);
    }
    let participants = participants_on(db, text.chat, None).await?;
    let Some(event) = command.event(&message, &participants) else { return Ok(DeadlineOutcome::Settled) };
    match append_on(db, event).await? {
        Ok(appended) => Ok(DeadlineOutcome::Missed(Box::new(appended.message))),
        Err(refused) => Err(Fault::Row(format!("the event of a missed deadline was refused: {refused:?}"))),
    }
}
