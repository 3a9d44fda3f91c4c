//! The tree of messages that follow from one another, oldest first.

use std::collections::HashMap;

use diesel::sql_types::{Array, BigInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{ChatId, MessageId, ParticipantId, RecordId, UserId};
use domain::message::{Kinds, Message, MessageKind};
use domain::page::{Page, PageRequest, Position, fitting, weight};
use domain::time::Timestamp;
use uuid::Uuid;

use super::load::{Records, fitted_on, records_on, rows_on};
use super::sequences::SequenceRange;
use crate::chat::load::standing_on;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::statement::{Statement, statement};

/// A message that `viewer` may see, without its deliveries.
pub(super) async fn readable_on(
    db: &Db,
    viewer: ParticipantId,
    message: MessageId,
) -> Result<Option<Message>, Fault> {
    let Some(row) = rows_on(db, vec![message.uuid()], "").await?.pop() else { return Ok(None) };
    let message = row.into_message(Vec::new())?;
    let standing = standing_on(db, viewer, message.chat_id).await?;
    Ok(Some(message).filter(|message| message.is_visible_to(viewer, &standing)))
}

/// The ids of a tree's messages but its root, and their minimum sizes. Values: root, time and id to begin after, viewer, limit.
const IDS: &str = "SELECT id, octet_length(content) + 2 * octet_length(mentions) + coalesce(octet_length(metadata), 0)::bigint \
     FROM messages WHERE root_id = ? AND (created_at, id) > (?, ?) \
     AND coalesce((SELECT 1 = 1 FROM participants JOIN chats ON chats.id = participants.chat_id \
         WHERE participants.chat_id = messages.chat_id AND participants.account_id = ? \
         AND participants.left_at IS NULL AND chats.deleted_at IS NULL LIMIT 1), 1 = 0) \
     ORDER BY created_at, id LIMIT ?";

pub(super) async fn tree_on(
    mut db: &Db,
    viewer: UserId,
    root: MessageId,
    page: &PageRequest,
) -> Result<Page<Message>, Fault> {
    let limit = page.slice.limit() as usize;
    let after = page.slice.after();
    let mut ids = Vec::new();
    if after.is_none() && readable_on(db, ParticipantId::User(viewer), root).await?.is_some() {
        ids.push((root.uuid(), 0));
    }
    let Position { key, id, .. } = after.unwrap_or_else(before_all);
    let others = statement::<(SqlUuid, BigInt)>(IDS)
        .bind::<SqlUuid, _>(root.uuid())
        .bind::<Timestamptz, _>(At(Timestamp::from_micros(key)))
        .bind::<SqlUuid, _>(id.uuid())
        .bind::<SqlUuid, _>(viewer.uuid())
        .bind::<BigInt, _>(i64::try_from(limit + 1).unwrap_or(i64::MAX));
    ids.extend(others.load::<(Uuid, i64)>(&mut db).await?);
    let more = ids.len() > limit;
    ids.truncate(limit);
    let wanted = ids.len();
    let weigh =
        |(_, bytes): &(Uuid, i64)| weight::MESSAGE_BYTES.saturating_add(usize::try_from(*bytes).unwrap_or(0));
    ids.truncate(fitting(page.max_bytes(), ids.iter().map(weigh)));
    let ids = ids.into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    let place = ids.iter().enumerate().map(|(place, id)| (*id, place)).collect::<HashMap<_, _>>();
    let found = records_on(db, ids.clone(), Records::All).await?;
    let mut rows = rows_on(db, ids, "").await?;
    rows.sort_unstable_by_key(|row| place.get(&row.id.0).copied());
    let rows = fitted_on(db, rows, found, page.max_bytes()).await?;
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

/// The part of a tree in a chat. Values: [`bound`].
const PART: &str = "FROM (SELECT chat_id, kind, sequence FROM messages WHERE root_id = ? \
     UNION ALL SELECT chat_id, kind, sequence FROM messages WHERE id = ?) AS part \
     WHERE chat_id = ? AND kind = ANY(?) AND sequence > ? AND sequence < ?";

fn bound<Row>(
    statement: Statement<'_, Row>,
    root: MessageId,
    chat: ChatId,
    kinds: Kinds,
    part: SequenceRange,
) -> Statement<'_, Row> {
    statement
        .bind::<SqlUuid, _>(root.uuid())
        .bind::<SqlUuid, _>(root.uuid())
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<Array<Text>, _>(kinds.iter().map(MessageKind::as_str).collect::<Vec<_>>())
        .bind::<BigInt, _>(part.0)
        .bind::<BigInt, _>(part.1)
}

/// Like [`sequences_on`](super::sequences::sequences_on), of a tree, newest first.
pub(super) async fn sequences_of_tree_on(
    mut db: &Db,
    root: MessageId,
    chat: ChatId,
    kinds: Kinds,
    part: SequenceRange,
    (limit, offset): (i64, i64),
) -> Result<Vec<i64>, Fault> {
    let sequences =
        statement::<BigInt>(format!("SELECT sequence {PART} ORDER BY sequence DESC LIMIT ? OFFSET ?"));
    let sequences = bound(sequences, root, chat, kinds, part);
    Ok(sequences.bind::<BigInt, _>(limit).bind::<BigInt, _>(offset).load(&mut db).await?)
}

/// The number of messages of a tree in the part of the chat.
pub(super) async fn count_of_tree_on(
    mut db: &Db,
    root: MessageId,
    chat: ChatId,
    kinds: Kinds,
    part: SequenceRange,
) -> Result<u64, Fault> {
    let counted = statement::<BigInt>(format!("SELECT count(*) {PART}"));
    let counted = bound(counted, root, chat, kinds, part);
    Ok(counted.get_result::<i64>(&mut db).await?.cast_unsigned())
}
