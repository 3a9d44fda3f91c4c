//! The history of a chat.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{ChatId, ParticipantId, RecordId};
use domain::message::{HistoryFilter, Kinds, Message};
use domain::page::{Order, Page, PageRequest, Position};
use domain::time::Timestamp;
use futures_util::future::try_join;
use uuid::Uuid;

use super::load::{Records, part_on};
use super::sequences::{SequenceRange, count_on, sequences_on};
use super::tree::{count_of_tree_on, sequences_of_tree_on};
use crate::chat::load::{chat_on, standing_on};
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::chats;
use crate::statement::statement;

/// The history that `viewer` sees; without a viewer, access is not checked.
pub(super) async fn history_on(
    db: &Db,
    viewer: Option<ParticipantId>,
    chat: ChatId,
    filter: HistoryFilter,
    page: &PageRequest,
) -> Result<Option<Page<Message>>, Fault> {
    // A position carries the sequence at which the list ends, so `since` need not be repeated for
    // further pages.
    let order = if filter.oldest_first { Order::Ascending } else { Order::Descending };
    let (floor, ceiling) = match (page.slice.after(), order) {
        (Some(Position { key, .. }), Order::Ascending) => (key, i64::MAX),
        (Some(Position { key, id, .. }), Order::Descending) => {
            (i64::try_from(id.uuid().as_u128()).unwrap_or(i64::MAX), key)
        }
        (None, _) => (0, i64::MAX),
    };
    let floor = async {
        match filter.since {
            Some(since) => Ok::<_, Fault>(floor.max(floor_on(db, chat, since).await?)),
            None => Ok(floor),
        }
    };
    let found = async {
        let floor = floor.await?;
        let total = async {
            let whole = SequenceRange(floor, i64::MAX);
            Ok::<_, Fault>(match filter.root {
                _ if !page.count => None,
                Some(root) => Some(count_of_tree_on(db, (root, chat), filter.kinds, whole).await?),
                None => Some(total_on(db, chat, filter.kinds, floor).await?),
            })
        };
        let span = (i64::from(page.slice.limit()) + 1, page.slice.offset());
        let part = SequenceRange(floor, ceiling);
        let sequences = async {
            match filter.root {
                Some(root) => sequences_of_tree_on(db, (root, chat), filter.kinds, part, order, span).await,
                None => sequences_on(db, chat, filter.kinds, part, order, span).await,
            }
        };
        let (total, sequences) = try_join(total, sequences).await?;
        Ok((floor, total, sequences))
    };
    let is_visible = async {
        Ok::<_, Fault>(match viewer {
            Some(viewer) => standing_on(db, viewer, chat).await?.may_read(),
            None => chat_on(db, chat).await?.is_some(),
        })
    };
    // Callers without access are rare, so the reads run concurrently.
    let (is_visible, (floor, total, mut sequences)) = try_join(is_visible, found).await?;
    if !is_visible {
        return Ok(None);
    }
    let limit = page.slice.limit() as usize;
    let more = sequences.len() > limit;
    sequences.truncate(limit);
    let (rows, cut) = part_on(db, chat, &sequences, order, Records::All, page.max_bytes()).await?;
    let end = RecordId::new(Uuid::from_u128(u128::from(floor.cast_unsigned())));
    Ok(Some(Page::part(rows, more || cut, total, |message| Position::at(message.sequence.get(), end))))
}

/// Halves the part that contains the boundary. All messages up to `low` are at `since` or before, all
/// after `high` are later; deleted messages leave gaps, so each step looks at the next message from
/// the middle on.
const FLOOR: &str = "WITH RECURSIVE search (low, high) AS (\
     SELECT 0::bigint, last_sequence FROM chats WHERE id = ? UNION ALL \
     SELECT CASE WHEN probe.created_at <= ? THEN probe.sequence ELSE search.low END, \
     CASE WHEN probe.created_at <= ? THEN search.high ELSE (search.low + search.high + 1) / 2 - 1 END \
     FROM search LEFT JOIN LATERAL (SELECT created_at, sequence FROM messages \
     WHERE chat_id = ? AND sequence >= (search.low + search.high + 1) / 2 ORDER BY sequence LIMIT 1) AS probe \
     ON TRUE WHERE search.low < search.high) \
     SELECT low FROM search WHERE low >= high";

/// A sequence between the last message at `since` or before and the next one: times follow the order
/// of the chat.
pub(super) async fn floor_on(mut db: &Db, chat: ChatId, since: Timestamp) -> Result<i64, Fault> {
    let floor = statement::<BigInt>(FLOOR)
        .bind::<SqlUuid, _>(chat.uuid())
        .bind::<Timestamptz, _>(At(since))
        .bind::<Timestamptz, _>(At(since))
        .bind::<SqlUuid, _>(chat.uuid());
    // The chat may not exist.
    Ok(floor.get_result::<i64>(&mut db).await.optional()?.unwrap_or(i64::MAX))
}

/// The chat stores its number of messages, so only a part of them has to be counted.
async fn total_on(mut db: &Db, chat: ChatId, kinds: Kinds, floor: i64) -> Result<u64, Fault> {
    if kinds != Kinds::ALL || floor > 0 {
        return count_on(db, chat, kinds, SequenceRange(floor, i64::MAX)).await;
    }
    let room = chats::table.find(chat.uuid());
    let number =
        room.select(chats::last_sequence - chats::deleted_messages).first::<i64>(&mut db).await.optional()?;
    // The chat may not exist.
    Ok(number.unwrap_or(0).cast_unsigned())
}
