//! Deliveries that are held by a limit.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Integer, Text};
use diesel::sqlite::SqliteConnection;
use domain::delivery::HeldBy;
use domain::id::{ChatId, MessageId};
use domain::message::{Appended, DueHold, Message, NoticeHold, NoticeOutcome};

use super::append::append_on;
use super::load::message_on;
use crate::chat::load::{chat_on, participants_on};
use crate::error::Fault;
use crate::row::{self, Id};
use crate::schema::holds;
use crate::statement::statement;

/// Holds the deliveries of a new message that is over its limit, unless a release has allowed more.
pub(super) fn hold_on(connection: &mut SqliteConnection, appended: &mut Appended) -> Result<(), Fault> {
    let Some((place, limit)) = appended.over_limit() else { return Ok(()) };
    let by = HeldBy::MaxHops;
    let key = (row::bytes(place.root.uuid()), by.as_str());
    let allowed = holds::table.find(key).select(holds::allowed).get_result::<Option<i32>>(connection);
    let allowed = allowed.optional()?.flatten().and_then(|allowed| u32::try_from(allowed).ok());
    if allowed.is_some_and(|allowed| place.hop <= allowed) {
        return Ok(());
    }
    appended.hold(by);
    statement!(
        "INSERT INTO holds (subject_id, held_by, chat_id, message_id, bound, held_at) VALUES (?, ?, ?, ?, ?, ?) \
         ON CONFLICT (subject_id, held_by) DO UPDATE SET chat_id = excluded.chat_id, \
         message_id = excluded.message_id, bound = excluded.bound, held_at = excluded.held_at, noticed_at = NULL \
         WHERE holds.held_at IS NULL"
    )
    .bind::<Binary, _>(Id(place.root.uuid()))
    .bind::<Text, _>(by.as_str())
    .bind::<Binary, _>(Id(appended.message.chat_id.uuid()))
    .bind::<Binary, _>(Id(appended.message.id.uuid()))
    .bind::<Integer, _>(limit.cast_signed())
    .bind::<BigInt, _>(appended.message.created_at.micros())
    .execute(connection)?;
    Ok(())
}

/// Allows the tree of a message whose delivery is released as many hops again.
pub(crate) fn release_on(
    connection: &mut SqliteConnection,
    message: &Message,
    by: HeldBy,
) -> Result<(), Fault> {
    let place = message.place();
    statement!(
        "UPDATE holds SET allowed = max(coalesce(allowed, 0), ? + bound), held_at = NULL, noticed_at = NULL \
         WHERE subject_id = ? AND held_by = ?"
    )
    .bind::<Integer, _>(place.counted_hop().cast_signed())
    .bind::<Binary, _>(Id(place.root.uuid()))
    .bind::<Text, _>(by.as_str())
    .execute(connection)?;
    Ok(())
}

pub(super) fn due_on(connection: &mut SqliteConnection, limit: u32) -> Result<Vec<DueHold>, Fault> {
    let rows = statement!(
        "SELECT subject_id, held_by, bound, chat_id, message_id FROM holds INDEXED BY holds_to_notice \
         WHERE held_at IS NOT NULL AND noticed_at IS NULL ORDER BY held_at, subject_id LIMIT ?"
        => (Binary, Text, Integer, Binary, Binary)
    );
    let rows = rows.bind::<BigInt, _>(i64::from(limit)).load::<(Id, String, i32, Id, Id)>(connection)?;
    let due = |(root, held_by, bound, chat, message): (Id, String, i32, Id, Id)| {
        Ok(DueHold {
            root: MessageId::new(root.0),
            held_by: row::word(&held_by, HeldBy::parse)?,
            bound: bound.cast_unsigned(),
            chat: ChatId::new(chat.0),
            message: MessageId::new(message.0),
        })
    };
    rows.into_iter().map(due).collect()
}

pub(super) fn notice_on(
    connection: &mut SqliteConnection,
    command: &NoticeHold,
) -> Result<NoticeOutcome, Fault> {
    let due = command.due;
    let unnoticed = holds::table
        .find((row::bytes(due.root.uuid()), due.held_by.as_str()))
        .filter(holds::held_at.is_not_null())
        .filter(holds::noticed_at.is_null());
    let marked =
        diesel::update(unnoticed).set(holds::noticed_at.eq(command.now.micros())).execute(connection)?;
    if marked == 0 {
        return Ok(NoticeOutcome::Gone);
    }
    let Some(message) = message_on(connection, due.chat, due.message)? else {
        return Ok(NoticeOutcome::Settled);
    };
    if chat_on(connection, due.chat)?.is_none() {
        return Ok(NoticeOutcome::Settled);
    }
    let participants = participants_on(connection, due.chat, None)?;
    let Some(event) = command.event(&message, &participants) else { return Ok(NoticeOutcome::Settled) };
    match append_on(connection, event)? {
        Ok(appended) => Ok(NoticeOutcome::Posted(Box::new(appended.message))),
        Err(refused) => Err(Fault::Row(format!("the event of a hold was refused: {refused:?}"))),
    }
}
