//! Checks of texts after their deadlines.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::id::{ChatId, MessageId};
use domain::message::{CheckDeadline, DeadlineOutcome, DueText};
use domain::time::Timestamp;

use super::append::append_on;
use super::load::message_on;
use crate::chat::load::{chat_on, participants_on};
use crate::error::Fault;
use crate::row::{self, At, Id};
use crate::schema::messages;
use crate::statement::statement;

/// Texts whose deadline has passed, by deadline and id.
pub(super) fn due_on(
    connection: &mut SqliteConnection,
    now: Timestamp,
    after: Option<(Timestamp, MessageId)>,
    limit: u32,
) -> Result<Vec<DueText>, Fault> {
    let (since, after) = after.unwrap_or((Timestamp::from_micros(i64::MIN), MessageId::NIL));
    let rows = statement!(
        "SELECT id, chat_id, respond_by FROM messages INDEXED BY messages_with_deadline \
         WHERE respond_by IS NOT NULL AND deadline_checked_at IS NULL AND respond_by <= ? \
         AND (respond_by, id) > (?, ?) ORDER BY respond_by, id LIMIT ?"
        => (Binary, Binary, BigInt)
    );
    let rows = rows
        .bind::<BigInt, _>(now.micros())
        .bind::<BigInt, _>(since.micros())
        .bind::<Binary, _>(row::bytes(after.uuid()))
        .bind::<BigInt, _>(i64::from(limit))
        .load::<(Id, Id, At)>(connection)?;
    let due = |(message, chat, by): (Id, Id, At)| DueText {
        message: MessageId::new(message.0),
        chat: ChatId::new(chat.0),
        respond_by: by.0,
    };
    Ok(rows.into_iter().map(due).collect())
}

pub(super) fn check_on(
    connection: &mut SqliteConnection,
    command: &CheckDeadline,
) -> Result<DeadlineOutcome, Fault> {
    let text = command.text;
    let unchecked =
        messages::table.find(row::bytes(text.message.uuid())).filter(messages::deadline_checked_at.is_null());
    let marked = diesel::update(unchecked)
        .set(messages::deadline_checked_at.eq(command.now.micros()))
        .execute(connection)?;
    if marked == 0 {
        return Ok(DeadlineOutcome::Gone);
    }
    let Some(message) = message_on(connection, text.chat, text.message)? else {
        return Ok(DeadlineOutcome::Gone);
    };
    if chat_on(connection, text.chat)?.is_none() {
        return Ok(DeadlineOutcome::Settled);
    }
    let participants = participants_on(connection, text.chat, None)?;
    let Some(event) = command.event(&message, &participants) else { return Ok(DeadlineOutcome::Settled) };
    match append_on(connection, event)? {
        Ok(appended) => Ok(DeadlineOutcome::Missed(Box::new(appended.message))),
        Err(refused) => Err(Fault::Row(format!("the event of a missed deadline was refused: {refused:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use diesel::prelude::*;
    use domain::chat::ChatChanges;
    use domain::id::ParticipantId;
    use domain::message::{DeadlineWalk, RespondWithin};
    use testkit::{Stores, World};

    use crate::schema::messages;
    use crate::{Location, SqliteStore, row};

    #[tokio::test]
    async fn a_text_that_cannot_be_read_holds_up_no_other() {
        let store = Arc::new(SqliteStore::open(&Location::Memory).unwrap());
        let world = World::on(Stores::of(&store, SqliteStore::close));
        let ann = world.user("ann").await;
        let bot = world.agent(&ann, "Bot").await;
        let chat = world.chat(ann.caller, &[bot.id.into()]).await;
        let changes = ChatChanges { respond_within: Some(RespondWithin::new(1)), ..ChatChanges::default() };
        world.chats.rename(ann.caller, chat, changes).await.unwrap();
        let broken = world.send(ann.caller, chat, "broken", &[ParticipantId::Agent(bot.id)]).await.id;
        world.send(ann.caller, chat, "behind it", &[ParticipantId::Agent(bot.id)]).await;
        let damage = store.alter(move |connection| {
            let damaged = messages::table.find(row::bytes(broken.uuid()));
            Ok(diesel::update(damaged).set(messages::mentions.eq("{")).execute(connection)?)
        });
        damage.await.unwrap();
        world.clock.advance(Duration::from_secs(2));
        let mut walk = DeadlineWalk::default();
        for missed in [1, 0] {
            let checked = world.messages.check_deadlines(&mut walk).await.unwrap();
            let failed = checked.failed.iter().map(|(message, _)| *message).collect::<Vec<_>>();
            assert_eq!((checked.missed, failed), (missed, vec![broken]));
        }
    }
}
