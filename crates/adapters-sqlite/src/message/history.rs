//! The history of a chat.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::id::{ChatId, ParticipantId, RecordId};
use domain::message::{HistoryFilter, Kinds, Message};
use domain::page::{Order, Page, PageRequest, Position};
use domain::time::Timestamp;
use uuid::Uuid;

use super::load::{Records, part_on};
use super::sequences::{SequenceRange, count_on, sequences_on};
use super::tree::{count_of_tree_on, sequences_of_tree_on};
use crate::chat::load::{chat_on, standing_on};
use crate::error::Fault;
use crate::row::{self, Id};
use crate::schema::chats;
use crate::statement::statement;

/// The history that `viewer` sees; without a viewer, access is not checked.
pub(super) fn history_on(
    connection: &mut SqliteConnection,
    viewer: Option<ParticipantId>,
    chat: ChatId,
    filter: HistoryFilter,
    page: PageRequest,
) -> Result<Option<Page<Message>>, Fault> {
    let is_visible = match viewer {
        Some(viewer) => standing_on(connection, viewer, chat)?.may_read(),
        None => chat_on(connection, chat)?.is_some(),
    };
    if !is_visible {
        return Ok(None);
    }
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
    let floor = match filter.since {
        Some(since) => floor.max(floor_on(connection, chat, since)?),
        None => floor,
    };
    let kinds = filter.kinds;
    let counted = |connection: &mut SqliteConnection| match filter.root {
        Some(root) => count_of_tree_on(connection, (root, chat), kinds, SequenceRange(floor, i64::MAX)),
        None => total_on(connection, chat, kinds, floor),
    };
    let total = if page.count { Some(counted(connection)?) } else { None };
    let span = (i64::from(page.slice.limit()) + 1, page.slice.offset());
    let part = SequenceRange(floor, ceiling);
    let mut sequences = match filter.root {
        Some(root) => sequences_of_tree_on(connection, (root, chat), kinds, part, order, span)?,
        None => sequences_on(connection, chat, kinds, part, order, span)?,
    };
    let limit = page.slice.limit() as usize;
    let more = sequences.len() > limit;
    sequences.truncate(limit);
    let (rows, cut) = part_on(connection, chat, &sequences, order, Records::All, page.max_bytes())?;
    let end = RecordId::new(Uuid::from_u128(u128::from(floor.cast_unsigned())));
    Ok(Some(Page::part(rows, more || cut, total, |message| Position::at(message.sequence.get(), end))))
}

/// A sequence between the last message at `since` or before and the next one: times follow the order
/// of the chat.
///
/// Halves the part that contains the boundary: all messages up to `low` are at `since` or before, all
/// after `high` are later. Deleted messages leave gaps, so each step looks at the next message from
/// the middle on.
pub(super) fn floor_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    since: Timestamp,
) -> Result<i64, Fault> {
    let chat = chat.uuid();
    let last = chats::table.find(row::bytes(chat)).select(chats::last_sequence);
    let (mut low, mut high) = (0, last.get_result::<i64>(connection)?);
    while low < high {
        let middle = low + (high - low + 1) / 2;
        // SQLite prepares a statement again with each value that is compared to a column, but not if it is an expression.
        let next = statement!(
            "SELECT sequence, created_at FROM messages WHERE chat_id = ? AND sequence >= ? + 0 ORDER BY sequence LIMIT 1"
            => (BigInt, BigInt)
        );
        let next = next
            .bind::<Binary, _>(Id(chat))
            .bind::<BigInt, _>(middle)
            .get_result::<(i64, i64)>(connection)
            .optional()?;
        match next {
            Some((sequence, created_at)) if created_at <= since.micros() => low = sequence,
            _ => high = middle - 1,
        }
    }
    Ok(low)
}

/// The chat stores its number of messages, so only a part of them has to be counted.
fn total_on(connection: &mut SqliteConnection, chat: ChatId, kinds: Kinds, floor: i64) -> Result<u64, Fault> {
    if kinds != Kinds::ALL || floor > 0 {
        return count_on(connection, chat, kinds, SequenceRange(floor, i64::MAX));
    }
    let room = chats::table.find(row::bytes(chat.uuid()));
    let number = room.select(chats::last_sequence - chats::deleted_messages).get_result::<i64>(connection)?;
    Ok(number.cast_unsigned())
}
