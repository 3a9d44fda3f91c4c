//! The part of a tree in a chat: messages that follow from one another.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Text};
use diesel::sqlite::SqliteConnection;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::{Kinds, Message, MessageKind};
use domain::page::Order;

use super::row::MessageRow;
use super::sequences::SequenceRange;
use crate::chat::load::standing_on;
use crate::error::Fault;
use crate::row::{self, Id};
use crate::schema::messages;
use crate::statement::statement;

/// A message of the chat that `viewer` may see, without its deliveries.
pub(super) fn readable_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
    message: MessageId,
) -> Result<Option<Message>, Fault> {
    let row = messages::table
        .find(Id(message.uuid()))
        .select(MessageRow::as_select())
        .get_result(connection)
        .optional()?;
    let Some(row) = row else { return Ok(None) };
    let message = row.into_message(Vec::new())?;
    if message.chat_id != chat {
        return Ok(None);
    }
    let standing = standing_on(connection, viewer, chat)?;
    Ok(Some(message).filter(|message| message.is_visible_to(viewer, &standing)))
}

/// What follows from the root. Values: root, chat, kinds as JSON, sequences before and behind.
const BELOW: &str = "FROM messages INDEXED BY messages_of_tree WHERE root_id = ? AND chat_id = ? \
     AND kind IN (SELECT value FROM json_each(?)) AND sequence > ? AND sequence < ?";

/// The root itself. Values: as [`BELOW`].
const ROOT: &str = "FROM messages WHERE id = ? AND chat_id = ? \
     AND kind IN (SELECT value FROM json_each(?)) AND sequence > ? AND sequence < ? AND root_id IS NULL";

/// Like [`sequences_on`](super::sequences::sequences_on), of a tree.
pub(super) fn sequences_of_tree_on(
    connection: &mut SqliteConnection,
    (root, chat): (MessageId, ChatId),
    kinds: Kinds,
    part: SequenceRange,
    order: Order,
    (limit, offset): (i64, i64),
) -> Result<Vec<i64>, Fault> {
    // A text for each order.
    macro_rules! sequences {
        ($direction:literal) => {
            statement!(
                "SELECT sequence ", BELOW, " UNION ALL SELECT sequence ", ROOT, " ORDER BY sequence ", $direction,
                " LIMIT ? + 0 OFFSET ?"
                => BigInt
            )
            .bind::<Binary, _>(Id(root.uuid()))
            .bind::<Binary, _>(Id(chat.uuid()))
            .bind::<Text, _>(words(kinds)?)
            .bind::<BigInt, _>(part.0)
            .bind::<BigInt, _>(part.1)
            .bind::<Binary, _>(Id(root.uuid()))
            .bind::<Binary, _>(Id(chat.uuid()))
            .bind::<Text, _>(words(kinds)?)
            .bind::<BigInt, _>(part.0)
            .bind::<BigInt, _>(part.1)
            .bind::<BigInt, _>(limit)
            .bind::<BigInt, _>(offset)
            .load(connection)?
        };
    }
    Ok(match order {
        Order::Ascending => sequences!("ASC"),
        Order::Descending => sequences!("DESC"),
    })
}

/// The number of messages of a tree in the part of the chat.
pub(super) fn count_of_tree_on(
    connection: &mut SqliteConnection,
    (root, chat): (MessageId, ChatId),
    kinds: Kinds,
    part: SequenceRange,
) -> Result<u64, Fault> {
    let counted = statement!("SELECT (SELECT count(*) ", BELOW, ") + (SELECT count(*) ", ROOT, ")" => BigInt)
        .bind::<Binary, _>(Id(root.uuid()))
        .bind::<Binary, _>(Id(chat.uuid()))
        .bind::<Text, _>(words(kinds)?)
        .bind::<BigInt, _>(part.0)
        .bind::<BigInt, _>(part.1)
        .bind::<Binary, _>(Id(root.uuid()))
        .bind::<Binary, _>(Id(chat.uuid()))
        .bind::<Text, _>(words(kinds)?)
        .bind::<BigInt, _>(part.0)
        .bind::<BigInt, _>(part.1);
    Ok(counted.get_result::<i64>(connection)?.cast_unsigned())
}

fn words(kinds: Kinds) -> Result<String, Fault> {
    row::to_json(&kinds.iter().map(MessageKind::as_str).collect::<Vec<_>>())
}
