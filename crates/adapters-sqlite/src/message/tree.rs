//! The tree of messages that follow from one another, oldest first.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Text};
use diesel::sqlite::SqliteConnection;
use domain::id::{ChatId, MessageId, ParticipantId, RecordId, UserId};
use domain::message::{Kinds, Message, MessageKind};
use domain::page::{Page, PageRequest, Position, fitting};

use super::load::{Records, fitted_on};
use super::row::MessageRow;
use super::sequences::SequenceRange;
use crate::chat::load::standing_on;
use crate::error::Fault;
use crate::row::{self, Id};
use crate::schema::messages;
use crate::statement::statement;

/// A message that `viewer` may see, without its deliveries.
pub(super) fn readable_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    message: MessageId,
) -> Result<Option<Message>, Fault> {
    let Some(row) = row_on(connection, Id(message.uuid()))? else { return Ok(None) };
    let message = row.into_message(Vec::new())?;
    let standing = standing_on(connection, viewer, message.chat_id)?;
    Ok(Some(message).filter(|message| message.is_visible_to(viewer, &standing)))
}

fn row_on(connection: &mut SqliteConnection, message: Id) -> Result<Option<MessageRow>, Fault> {
    let row = messages::table.find(message).select(MessageRow::as_select());
    Ok(row.get_result(connection).optional()?)
}

pub(super) fn tree_on(
    connection: &mut SqliteConnection,
    viewer: UserId,
    root: MessageId,
    page: &PageRequest,
) -> Result<Page<Message>, Fault> {
    let limit = page.slice.limit() as usize;
    let after = page.slice.after();
    let mut ids = Vec::new();
    if after.is_none() && readable_on(connection, ParticipantId::User(viewer), root)?.is_some() {
        ids.push(Id(root.uuid()));
    }
    let Position { key, id, .. } = after.unwrap_or_else(before_all);
    // The index of the tree is named because SQLite would sort it otherwise.
    let others = statement!(
        "SELECT id FROM messages INDEXED BY messages_of_tree WHERE root_id = ? AND (created_at, id) > (?, ?) \
         AND EXISTS (SELECT 1 FROM participants INDEXED BY participants_of_account CROSS JOIN chats \
             ON chats.id = participants.chat_id AND chats.deleted_at IS NULL \
             WHERE participants.account_id = ? AND participants.chat_id = messages.chat_id \
             AND participants.left_at IS NULL) \
         ORDER BY created_at, id LIMIT ? + 0" => Binary
    );
    let others = others
        .bind::<Binary, _>(Id(root.uuid()))
        .bind::<BigInt, _>(key)
        .bind::<Binary, _>(Id(id.uuid()))
        .bind::<Binary, _>(Id(viewer.uuid()))
        .bind::<BigInt, _>(i64::try_from(limit + 1).unwrap_or(i64::MAX));
    ids.extend(others.load::<Id>(connection)?);
    let more = ids.len() > limit;
    ids.truncate(limit);
    let wanted = ids.len();
    let (mut rows, mut weights) = (Vec::new(), Vec::new());
    for id in ids {
        let Some(row) = row_on(connection, id)? else { continue };
        weights.push(row.weight());
        if fitting(page.max_bytes(), weights.iter().copied()) < weights.len() {
            break;
        }
        rows.push(row);
    }
    let rows = fitted_on(connection, rows, Records::All, page.max_bytes())?;
    let cut = rows.len() < wanted;
    Ok(Page::part(rows, more || cut, None, |message| position(message, root)))
}

/// The position of the root: its clock may have been ahead of others.
fn before_all() -> Position {
    Position::at(0, RecordId::NIL)
}

fn position(message: &Message, root: MessageId) -> Position {
    if message.id == root { before_all() } else { Position::at(message.created_at.micros(), message.id) }
}

/// The part of a tree in a chat, as a table `part`. Values: root, root, chat, kinds as JSON, sequences before and behind.
macro_rules! part {
    () => {
        "FROM (SELECT chat_id, kind, sequence FROM messages INDEXED BY messages_of_tree WHERE root_id = ? \
         UNION ALL SELECT chat_id, kind, sequence FROM messages WHERE id = ?) AS part \
         WHERE chat_id = ? AND kind IN (SELECT value FROM json_each(?)) AND sequence > ? AND sequence < ?"
    };
}

/// Like [`sequences_on`](super::sequences::sequences_on), of a tree, newest first.
pub(super) fn sequences_of_tree_on(
    connection: &mut SqliteConnection,
    root: MessageId,
    chat: ChatId,
    kinds: Kinds,
    part: SequenceRange,
    (limit, offset): (i64, i64),
) -> Result<Vec<i64>, Fault> {
    let sequences =
        statement!("SELECT sequence ", part!(), " ORDER BY sequence DESC LIMIT ? + 0 OFFSET ?" => BigInt);
    let sequences = sequences
        .bind::<Binary, _>(Id(root.uuid()))
        .bind::<Binary, _>(Id(root.uuid()))
        .bind::<Binary, _>(Id(chat.uuid()))
        .bind::<Text, _>(words(kinds)?)
        .bind::<BigInt, _>(part.0)
        .bind::<BigInt, _>(part.1)
        .bind::<BigInt, _>(limit)
        .bind::<BigInt, _>(offset);
    Ok(sequences.load(connection)?)
}

/// The number of messages of a tree in the part of the chat.
pub(super) fn count_of_tree_on(
    connection: &mut SqliteConnection,
    root: MessageId,
    chat: ChatId,
    kinds: Kinds,
    part: SequenceRange,
) -> Result<u64, Fault> {
    let counted = statement!("SELECT count(*) ", part!() => BigInt)
        .bind::<Binary, _>(Id(root.uuid()))
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
