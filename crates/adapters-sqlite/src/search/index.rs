//! Keeping the index. The one writing thread comes between no other change and its effect.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Bool, Text};
use diesel::sqlite::SqliteConnection;
use domain::id::{ChatId, Sequence};
use domain::message::Message;
use domain::search::{IndexBatch, IndexEntry, IndexStep, RoomsBehind, SearchKey, SearchedMessage};

use super::row::{SearchedColumns, SearchedRow};
use crate::error::Fault;
use crate::message::row::SenderHandle;
use crate::row::{self, Id};
use crate::statement::statement;

/// The number of rooms that one call examines.
const ROOMS_AT_ONCE: i64 = 1_000;

/// The number of entries that are erased at once.
const ERASED_AT_ONCE: i64 = 200;

pub(super) fn index_on(
    connection: &mut SqliteConnection,
    rooms: &[ChatId],
    most: usize,
) -> Result<IndexStep, Fault> {
    let mut batch = IndexBatch::up_to(most);
    for room in rooms {
        let wanted = batch.wanted();
        if wanted == 0 {
            batch.leave(*room);
            continue;
        }
        let state = statement!(
            "SELECT chats.last_sequence, coalesce(search_rooms.indexed_sequence, 0) FROM chats \
             LEFT JOIN search_rooms ON search_rooms.chat_id = chats.id \
             WHERE chats.id = ? AND chats.deleted_at IS NULL" => (BigInt, BigInt)
        );
        let state =
            state.bind::<Binary, _>(Id(room.uuid())).get_result::<(i64, i64)>(connection).optional()?;
        let Some((last, indexed)) = state.filter(|(last, indexed)| *indexed >= 0 && indexed < last) else {
            continue;
        };
        let range = (indexed, last, i64::try_from(wanted).unwrap_or(i64::MAX));
        let sizes = sizes_on(connection, *room, range)?;
        let count = batch.fitting(sizes.iter().copied());
        let is_cut = count < sizes.len() || sizes.len() == wanted;
        let range = (indexed, last, i64::try_from(count).unwrap_or(i64::MAX));
        let next = next_on(connection, *room, range)?;
        batch.add(*room, Sequence::new(last), next, is_cut);
    }
    // FTS5 takes row ids best in their order.
    batch.entries.sort_unstable_by_key(|entry| entry.place);
    for entry in &batch.entries {
        insert_on(connection, entry)?;
    }
    for (room, sequence) in &batch.rooms {
        set_indexed_on(connection, *room, sequence.get())?;
    }
    Ok(batch.step())
}

/// The sizes, in bytes, of the next messages of a room: at most `limit` of those after one sequence and up to another.
fn sizes_on(
    connection: &mut SqliteConnection,
    room: ChatId,
    (after, last, limit): (i64, i64, i64),
) -> Result<Vec<i64>, Fault> {
    let sizes = statement!(
        "SELECT octet_length(content) FROM messages WHERE chat_id = ? AND sequence > ? + 0 AND sequence <= ? + 0 \
         ORDER BY sequence LIMIT ? + 0" => BigInt
    );
    let sizes = sizes
        .bind::<Binary, _>(Id(room.uuid()))
        .bind::<BigInt, _>(after)
        .bind::<BigInt, _>(last)
        .bind::<BigInt, _>(limit);
    Ok(sizes.load::<i64>(connection)?)
}

/// The next messages of a room, as [`sizes_on`] finds them.
fn next_on(
    connection: &mut SqliteConnection,
    room: ChatId,
    (after, last, limit): (i64, i64, i64),
) -> Result<Vec<SearchedMessage>, Fault> {
    let next = statement!(
        "SELECT ", SearchedRow::COLUMNS, ", ", SenderHandle::TEXT, " FROM messages \
         WHERE messages.chat_id = ? AND messages.sequence > ? + 0 AND messages.sequence <= ? + 0 \
         ORDER BY messages.sequence LIMIT ? + 0" => SearchedColumns
    );
    let next = next
        .bind::<Binary, _>(Id(room.uuid()))
        .bind::<BigInt, _>(after)
        .bind::<BigInt, _>(last)
        .bind::<BigInt, _>(limit)
        .load::<SearchedRow>(connection)?;
    next.into_iter().map(SearchedRow::into_message).collect()
}

/// Inserts an entry at its place, or the next one that is free. An earlier entry of the message is replaced.
fn insert_on(connection: &mut SqliteConnection, entry: &IndexEntry) -> Result<(), Fault> {
    let listed = row::to_json(&[(Id(entry.chat.uuid()).hex(), entry.sequence.get())])?;
    erase_listed_on(connection, &listed)?;
    let mut place = entry.place.number();
    loop {
        let inserted = statement!(
            "INSERT INTO search_texts (place, chat_id, sequence) VALUES (?, ?, ?) ON CONFLICT (place) DO NOTHING"
        );
        let inserted = inserted
            .bind::<BigInt, _>(place)
            .bind::<Binary, _>(Id(entry.chat.uuid()))
            .bind::<BigInt, _>(entry.sequence.get())
            .execute(connection)?;
        if inserted > 0 {
            return insert_keys_on(connection, place, &entry.keys);
        }
        place += 1;
    }
}

fn insert_keys_on(connection: &mut SqliteConnection, place: i64, keys: &[SearchKey]) -> Result<(), Fault> {
    let keys = keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    statement!("INSERT INTO search_index (rowid, keys) VALUES (?, ?)")
        .bind::<BigInt, _>(place)
        .bind::<Text, _>(keys)
        .execute(connection)?;
    Ok(())
}

fn set_indexed_on(connection: &mut SqliteConnection, room: ChatId, sequence: i64) -> Result<(), Fault> {
    let set = statement!(
        "INSERT INTO search_rooms (chat_id, indexed_sequence) VALUES (?, ?) \
         ON CONFLICT (chat_id) DO UPDATE SET indexed_sequence = excluded.indexed_sequence"
    );
    set.bind::<Binary, _>(Id(room.uuid())).bind::<BigInt, _>(sequence).execute(connection)?;
    Ok(())
}

/// Indexes the new text of an edited message, if the message is indexed.
pub(crate) fn rewrite_on(connection: &mut SqliteConnection, message: &Message) -> Result<(), Fault> {
    let place = statement!("SELECT place FROM search_texts WHERE chat_id = ? AND sequence = ?" => BigInt);
    let place = place
        .bind::<Binary, _>(Id(message.chat_id.uuid()))
        .bind::<BigInt, _>(message.sequence.get())
        .get_result::<i64>(connection)
        .optional()?;
    let Some(place) = place else { return Ok(()) };
    erase_keys_on(connection, place)?;
    let keys = SearchedMessage::of(message).keys().into_iter().collect::<Vec<_>>();
    insert_keys_on(connection, place, &keys)
}

fn erase_keys_on(connection: &mut SqliteConnection, place: i64) -> Result<(), Fault> {
    statement!("DELETE FROM search_index WHERE rowid = ?").bind::<BigInt, _>(place).execute(connection)?;
    Ok(())
}

/// Erases the entry of a message.
pub(crate) fn erase_on(connection: &mut SqliteConnection, message: &Message) -> Result<(), Fault> {
    let listed = row::to_json(&[(Id(message.chat_id.uuid()).hex(), message.sequence.get())])?;
    erase_listed_on(connection, &listed)
}

/// Erases the entries of messages: JSON with the chat and the sequence of each.
pub(crate) fn erase_listed_on(connection: &mut SqliteConnection, listed: &str) -> Result<(), Fault> {
    let places = statement!(
        "SELECT search_texts.place FROM json_each(?) AS listed \
         CROSS JOIN search_texts ON search_texts.chat_id = unhex(listed.value ->> 0) \
         AND search_texts.sequence = listed.value ->> 1" => BigInt
    );
    let places = places.bind::<Text, _>(listed).load::<i64>(connection)?;
    erase_places_on(connection, &places)
}

fn erase_places_on(connection: &mut SqliteConnection, places: &[i64]) -> Result<(), Fault> {
    for place in places {
        statement!("DELETE FROM search_texts WHERE place = ?")
            .bind::<BigInt, _>(*place)
            .execute(connection)?;
        erase_keys_on(connection, *place)?;
    }
    Ok(())
}

/// Ends the indexing of a deleted chat; [`erase_some_on`] erases its entries.
pub(crate) fn close_on(connection: &mut SqliteConnection, chat: ChatId) -> Result<(), Fault> {
    set_indexed_on(connection, chat, -1)
}

/// A deleted chat that may have entries.
pub(super) fn closed_room_on(connection: &mut SqliteConnection) -> Result<Option<Id>, Fault> {
    let closed = statement!(
        "SELECT chat_id FROM search_rooms INDEXED BY search_rooms_deleted \
         WHERE indexed_sequence < 0 ORDER BY chat_id LIMIT 1" => Binary
    );
    Ok(closed.get_result::<Id>(connection).optional()?)
}

/// Erases some entries of a deleted chat; returns whether some may be left.
pub(super) fn erase_some_on(connection: &mut SqliteConnection) -> Result<bool, Fault> {
    let Some(room) = closed_room_on(connection)? else { return Ok(false) };
    let places = statement!("SELECT place FROM search_texts WHERE chat_id = ? LIMIT ? + 0" => BigInt);
    let places = places.bind::<Binary, _>(room).bind::<BigInt, _>(ERASED_AT_ONCE).load::<i64>(connection)?;
    erase_places_on(connection, &places)?;
    if places.is_empty() {
        statement!("DELETE FROM search_rooms WHERE chat_id = ?")
            .bind::<Binary, _>(room)
            .execute(connection)?;
    }
    Ok(true)
}

pub(super) fn behind_on(
    connection: &mut SqliteConnection,
    after: Option<ChatId>,
) -> Result<RoomsBehind, Fault> {
    let rooms = statement!(
        "SELECT chats.id, chats.deleted_at IS NULL, \
         chats.last_sequence - coalesce(search_rooms.indexed_sequence, 0) FROM chats \
         LEFT JOIN search_rooms ON search_rooms.chat_id = chats.id \
         WHERE chats.id > ? ORDER BY chats.id LIMIT ? + 0" => (Binary, Bool, BigInt)
    );
    let rooms = rooms
        .bind::<Binary, _>(Id(after.unwrap_or(ChatId::NIL).uuid()))
        .bind::<BigInt, _>(ROOMS_AT_ONCE)
        .load::<(Id, bool, i64)>(connection)?;
    let is_last = i64::try_from(rooms.len()).unwrap_or(i64::MAX) < ROOMS_AT_ONCE;
    let last = rooms.last().filter(|_| !is_last).map(|(id, ..)| ChatId::new(id.0));
    let behind = rooms.into_iter().filter(|(_, is_there, behind)| *is_there && *behind > 0);
    let rooms = behind.map(|(id, _, behind)| (ChatId::new(id.0), behind.cast_unsigned())).collect();
    Ok(RoomsBehind { rooms, last })
}
