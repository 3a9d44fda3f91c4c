//! The part of a tree in a chat: messages that follow from one another.

use diesel::sql_types::{Array, BigInt, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{ChatId, MessageId, ParticipantId};
use domain::message::{Kinds, Message, MessageKind};
use domain::page::Order;

use super::load::rows_on;
use super::sequences::{SequenceRange, direction};
use crate::chat::load::standing_on;
use crate::error::Fault;
use crate::run::Db;
use crate::statement::{Statement, statement};

/// A message of the chat that `viewer` may see, without its deliveries.
pub(super) async fn readable_on(
    db: &Db,
    viewer: ParticipantId,
    chat: ChatId,
    message: MessageId,
) -> Result<Option<Message>, Fault> {
    let Some(row) = rows_on(db, vec![message.uuid()], "").await?.pop() else { return Ok(None) };
    let message = row.into_message(Vec::new())?;
    if message.chat_id != chat {
        return Ok(None);
    }
    let standing = standing_on(db, viewer, chat).await?;
    Ok(Some(message).filter(|message| message.is_visible_to(viewer, &standing)))
}

/// What follows from the root. Values: [`bound`].
const BELOW: &str = "FROM messages WHERE root_id = ? AND chat_id = ? AND kind = ANY(?) \
     AND sequence > ? AND sequence < ?";

/// The root itself. Values: [`bound`]. `OFFSET 0` keeps the planner from reading the whole part of the chat instead of
/// the one message.
const ROOT: &str = "FROM (SELECT * FROM messages WHERE id = ? OFFSET 0) AS root WHERE chat_id = ? AND kind = ANY(?) \
     AND sequence > ? AND sequence < ? AND root_id IS NULL";

fn bound<Row>(
    statement: Statement<'_, Row>,
    root: MessageId,
    chat: ChatId,
    kinds: Kinds,
    part: SequenceRange,
) -> Statement<'_, Row> {
    statement
        .bind::<SqlUuid, _>(root.uuid())
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<Array<Text>, _>(kinds.iter().map(MessageKind::as_str).collect::<Vec<_>>())
        .bind::<BigInt, _>(part.0)
        .bind::<BigInt, _>(part.1)
}

/// Like [`sequences_on`](super::sequences::sequences_on), of a tree.
pub(super) async fn sequences_of_tree_on(
    mut db: &Db,
    (root, chat): (MessageId, ChatId),
    kinds: Kinds,
    part: SequenceRange,
    order: Order,
    (limit, offset): (i64, i64),
) -> Result<Vec<i64>, Fault> {
    let direction = direction(order);
    let sequences = statement::<BigInt>(format!(
        "(SELECT sequence {BELOW} ORDER BY root_id {direction}, chat_id {direction}, sequence {direction} LIMIT ?) \
         UNION ALL (SELECT sequence {ROOT}) ORDER BY sequence {direction} LIMIT ? OFFSET ?"
    ));
    let sequences = bound(sequences, root, chat, kinds, part);
    let sequences = sequences.bind::<BigInt, _>(limit.saturating_add(offset));
    let sequences = bound(sequences, root, chat, kinds, part);
    Ok(sequences.bind::<BigInt, _>(limit).bind::<BigInt, _>(offset).load(&mut db).await?)
}

/// The number of messages of a tree in the part of the chat.
pub(super) async fn count_of_tree_on(
    mut db: &Db,
    (root, chat): (MessageId, ChatId),
    kinds: Kinds,
    part: SequenceRange,
) -> Result<u64, Fault> {
    let counted = statement::<BigInt>(format!("SELECT (SELECT count(*) {BELOW}) + (SELECT count(*) {ROOT})"));
    let counted = bound(bound(counted, root, chat, kinds, part), root, chat, kinds, part);
    Ok(counted.get_result::<i64>(&mut db).await?.cast_unsigned())
}
