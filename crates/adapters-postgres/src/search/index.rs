//! Keeping the index.
//!
//! The row of a room in `search_rooms` is locked while its messages are indexed, and by whatever edits or deletes one of
//! them, until its end: in between, the other sees what the first has committed. Sending a message takes no such lock.

use std::collections::HashSet;

use diesel::OptionalExtension;
use diesel::sql_types::{Array, BigInt, Bool, Integer, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{ChatId, MessageId, Sequence};
use domain::message::Message;
use domain::search::{
    IndexBatch, IndexEntry, IndexStep, RoomsBehind, SearchKey, SearchPlace, SearchedMessage,
};
use uuid::Uuid;

use super::row::{SearchedColumns, SearchedRow};
use super::span;
use crate::error::Fault;
use crate::message::row::SenderHandle;
use crate::run::Db;
use crate::statement::statement;

/// The number of rooms that one call examines.
const ROOMS_AT_ONCE: i64 = 1_000;

/// The number of entries that are erased at once.
const ERASED_AT_ONCE: i64 = 500;

pub(super) async fn index_on(mut db: &Db, rooms: &[ChatId], most: usize) -> Result<IndexStep, Fault> {
    let mut batch = IndexBatch::up_to(most);
    for room in rooms {
        let wanted = batch.wanted();
        if wanted == 0 {
            batch.leave(*room);
            continue;
        }
        match state_on(db, room.uuid()).await? {
            State::Locked => batch.leave(*room),
            State::Indexed { last, indexed } if indexed >= 0 && indexed < last => {
                let range = (indexed, last, i64::try_from(wanted).unwrap_or(i64::MAX));
                let sizes = sizes_on(db, *room, range).await?;
                let count = batch.fitting(sizes.iter().copied());
                let is_cut = count < sizes.len() || sizes.len() == wanted;
                let range = (indexed, last, i64::try_from(count).unwrap_or(i64::MAX));
                batch.add(*room, Sequence::new(last), next_on(db, *room, range).await?, is_cut);
            }
            State::Deleted | State::Indexed { .. } => {}
        }
    }
    insert_on(db, &batch.entries).await?;
    if !batch.rooms.is_empty() {
        statement::<()>(
            "UPDATE search_rooms SET indexed_sequence = reached.sequence \
             FROM unnest(?, ?) AS reached (chat_id, sequence) WHERE search_rooms.chat_id = reached.chat_id",
        )
        .bind::<Array<SqlUuid>, _>(batch.rooms.iter().map(|(room, _)| room.uuid()).collect::<Vec<_>>())
        .bind::<Array<BigInt>, _>(batch.rooms.iter().map(|(_, reached)| reached.get()).collect::<Vec<_>>())
        .execute(&mut db)
        .await?;
    }
    Ok(batch.step())
}

/// How far a room is indexed.
enum State {
    /// It does not exist any more.
    Deleted,
    /// Another transaction has locked this.
    Locked,
    /// The last sequence, and the one up to which it is indexed, which is locked now.
    Indexed { last: i64, indexed: i64 },
}

async fn state_on(mut db: &Db, room: Uuid) -> Result<State, Fault> {
    statement::<()>(
        "INSERT INTO search_rooms (chat_id, indexed_sequence) \
         SELECT id, 0 FROM chats WHERE id = ? AND deleted_at IS NULL ON CONFLICT (chat_id) DO NOTHING",
    )
    .bind::<SqlUuid, _>(room)
    .execute(&mut db)
    .await?;
    let indexed = statement::<BigInt>(
        "SELECT indexed_sequence FROM search_rooms WHERE chat_id = ? FOR UPDATE SKIP LOCKED",
    );
    let indexed = indexed.bind::<SqlUuid, _>(room).get_result::<i64>(&mut db).await.optional()?;
    // Read after the lock: all messages up to this sequence are committed.
    let last = statement::<BigInt>("SELECT last_sequence FROM chats WHERE id = ? AND deleted_at IS NULL");
    let last = last.bind::<SqlUuid, _>(room).get_result::<i64>(&mut db).await.optional()?;
    Ok(match (last, indexed) {
        (None, _) => State::Deleted,
        (Some(_), None) => State::Locked,
        (Some(last), Some(indexed)) => State::Indexed { last, indexed },
    })
}

/// The sizes, in bytes, of the next messages of a room: at most `limit` of those after one sequence and up to another.
async fn sizes_on(
    mut db: &Db,
    room: ChatId,
    (after, last, limit): (i64, i64, i64),
) -> Result<Vec<i64>, Fault> {
    let sizes = statement::<BigInt>(
        "SELECT octet_length(content)::bigint FROM messages WHERE chat_id = ? AND sequence > ? AND sequence <= ? \
         ORDER BY sequence LIMIT ?",
    );
    let sizes = sizes
        .bind::<SqlUuid, _>(room.uuid())
        .bind::<BigInt, _>(after)
        .bind::<BigInt, _>(last)
        .bind::<BigInt, _>(limit);
    Ok(sizes.load::<i64>(&mut db).await?)
}

/// The next messages of a room, as [`sizes_on`] finds them.
async fn next_on(
    mut db: &Db,
    room: ChatId,
    (after, last, limit): (i64, i64, i64),
) -> Result<Vec<SearchedMessage>, Fault> {
    let (columns, handle) = (SearchedRow::COLUMNS, SenderHandle::TEXT);
    let next = statement::<SearchedColumns>(format!(
        "SELECT {columns}, {handle} FROM messages \
         WHERE messages.chat_id = ? AND messages.sequence > ? AND messages.sequence <= ? \
         ORDER BY messages.sequence LIMIT ?"
    ));
    let next = next
        .bind::<SqlUuid, _>(room.uuid())
        .bind::<BigInt, _>(after)
        .bind::<BigInt, _>(last)
        .bind::<BigInt, _>(limit)
        .load::<SearchedRow>(&mut db)
        .await?;
    next.into_iter().map(SearchedRow::into_message).collect()
}

/// Inserts entries, each at its place or the next one that is free. Earlier entries of the messages are replaced.
async fn insert_on(mut db: &Db, entries: &[IndexEntry]) -> Result<(), Fault> {
    if entries.is_empty() {
        return Ok(());
    }
    statement::<()>(
        "DELETE FROM search_texts USING unnest(?, ?) AS entry (chat_id, sequence) \
         WHERE search_texts.chat_id = entry.chat_id AND search_texts.sequence = entry.sequence",
    )
    .bind::<Array<SqlUuid>, _>(entries.iter().map(|entry| entry.chat.uuid()).collect::<Vec<_>>())
    .bind::<Array<BigInt>, _>(entries.iter().map(|entry| entry.sequence.get()).collect::<Vec<_>>())
    .execute(&mut db)
    .await?;
    let mut left = entries.iter().collect::<Vec<_>>();
    left.sort_unstable_by_key(|entry| entry.place);
    let mut moved = 0;
    while !left.is_empty() {
        let place = |entry: &&IndexEntry| entry.place.number() + moved;
        let keys = left.iter().map(|entry| array(&entry.keys, SearchPlace::new(place(entry))));
        let insert = statement::<(SqlUuid, BigInt)>(
            "INSERT INTO search_texts (chat_id, sequence, place, keys) \
             SELECT chat_id, sequence, place, keys::integer[] \
             FROM unnest(?, ?, ?, ?) AS entry (chat_id, sequence, place, keys) \
             ON CONFLICT (place) DO NOTHING RETURNING chat_id, sequence",
        );
        let inserted = insert
            .bind::<Array<SqlUuid>, _>(left.iter().map(|entry| entry.chat.uuid()).collect::<Vec<_>>())
            .bind::<Array<BigInt>, _>(left.iter().map(|entry| entry.sequence.get()).collect::<Vec<_>>())
            .bind::<Array<BigInt>, _>(left.iter().map(place).collect::<Vec<_>>())
            .bind::<Array<Text>, _>(keys.collect::<Vec<_>>())
            .load::<(Uuid, i64)>(&mut db)
            .await?;
        let inserted = inserted.into_iter().collect::<HashSet<_>>();
        left.retain(|entry| !inserted.contains(&(entry.chat.uuid(), entry.sequence.get())));
        moved += 1;
    }
    Ok(())
}

/// The keys of an entry, with those of its spans, as the text of an array.
fn array(keys: &[SearchKey], place: SearchPlace) -> String {
    let numbers = keys.iter().copied().chain(span::keys(place)).map(|key| key.number().to_string());
    format!("{{{}}}", numbers.collect::<Vec<_>>().join(","))
}

/// Locks how far rooms are indexed.
async fn lock_on(mut db: &Db, rooms: Vec<Uuid>) -> Result<(), Fault> {
    statement::<()>(
        "INSERT INTO search_rooms (chat_id, indexed_sequence) \
         SELECT chat_id, 0 FROM unnest(?) AS room (chat_id) ORDER BY chat_id \
         ON CONFLICT (chat_id) DO UPDATE SET indexed_sequence = search_rooms.indexed_sequence",
    )
    .bind::<Array<SqlUuid>, _>(rooms)
    .execute(&mut db)
    .await?;
    Ok(())
}

/// Indexes the new text of an edited message, if the message is indexed.
pub(crate) async fn rewrite_on(mut db: &Db, message: &Message) -> Result<(), Fault> {
    lock_on(db, vec![message.chat_id.uuid()]).await?;
    let place = statement::<BigInt>("SELECT place FROM search_texts WHERE chat_id = ? AND sequence = ?")
        .bind::<SqlUuid, _>(message.chat_id.uuid())
        .bind::<BigInt, _>(message.sequence.get())
        .get_result::<i64>(&mut db)
        .await
        .optional()?;
    let Some(place) = place else { return Ok(()) };
    let keys = SearchedMessage::of(message).keys().into_iter().chain(span::keys(SearchPlace::new(place)));
    statement::<()>("UPDATE search_texts SET keys = ? WHERE chat_id = ? AND sequence = ?")
        .bind::<Array<Integer>, _>(keys.map(SearchKey::number).collect::<Vec<_>>())
        .bind::<SqlUuid, _>(message.chat_id.uuid())
        .bind::<BigInt, _>(message.sequence.get())
        .execute(&mut db)
        .await?;
    Ok(())
}

/// Erases the entry of a message.
pub(crate) async fn erase_on(mut db: &Db, message: &Message) -> Result<(), Fault> {
    lock_on(db, vec![message.chat_id.uuid()]).await?;
    statement::<()>("DELETE FROM search_texts WHERE chat_id = ? AND sequence = ?")
        .bind::<SqlUuid, _>(message.chat_id.uuid())
        .bind::<BigInt, _>(message.sequence.get())
        .execute(&mut db)
        .await?;
    Ok(())
}

/// Erases the entries of messages of these chats, before the messages.
pub(crate) async fn erase_of_messages_on(
    mut db: &Db,
    chats: impl IntoIterator<Item = ChatId>,
    messages: &[MessageId],
) -> Result<(), Fault> {
    lock_on(db, chats.into_iter().map(ChatId::uuid).collect()).await?;
    statement::<()>(
        "DELETE FROM search_texts USING messages WHERE messages.id = ANY(?) \
         AND search_texts.chat_id = messages.chat_id AND search_texts.sequence = messages.sequence",
    )
    .bind::<Array<SqlUuid>, _>(messages.iter().map(|message| message.uuid()).collect::<Vec<_>>())
    .execute(&mut db)
    .await?;
    Ok(())
}

/// Ends the indexing of a deleted chat; [`erase_some_on`] erases its entries.
pub(crate) async fn close_on(mut db: &Db, chat: ChatId) -> Result<(), Fault> {
    let close = statement::<()>(
        "INSERT INTO search_rooms (chat_id, indexed_sequence) VALUES (?, -1) \
         ON CONFLICT (chat_id) DO UPDATE SET indexed_sequence = -1",
    );
    close.bind::<SqlUuid, _>(chat.uuid()).execute(&mut db).await?;
    Ok(())
}

/// A deleted chat that may have entries.
pub(super) async fn closed_room_on(mut db: &Db) -> Result<Option<Uuid>, Fault> {
    let closed = statement::<SqlUuid>(
        "SELECT chat_id FROM search_rooms WHERE indexed_sequence < 0 ORDER BY chat_id LIMIT 1",
    );
    Ok(closed.get_result::<Uuid>(&mut db).await.optional()?)
}

/// Erases some entries of a deleted chat; returns whether some may be left.
pub(super) async fn erase_some_on(mut db: &Db) -> Result<bool, Fault> {
    let Some(room) = closed_room_on(db).await? else { return Ok(false) };
    lock_on(db, vec![room]).await?;
    let erased = statement::<()>(
        "DELETE FROM search_texts WHERE ctid = ANY(ARRAY(\
         SELECT ctid FROM search_texts WHERE chat_id = ? LIMIT ?))",
    );
    let erased = erased.bind::<SqlUuid, _>(room).bind::<BigInt, _>(ERASED_AT_ONCE).execute(&mut db).await?;
    if erased == 0 {
        let done = statement::<()>("DELETE FROM search_rooms WHERE chat_id = ? AND indexed_sequence <= 0");
        done.bind::<SqlUuid, _>(room).execute(&mut db).await?;
    }
    Ok(true)
}

pub(super) async fn behind_on(mut db: &Db, after: Option<ChatId>) -> Result<RoomsBehind, Fault> {
    let rooms = statement::<(SqlUuid, Bool, BigInt)>(
        "SELECT chats.id, chats.deleted_at IS NULL, \
         chats.last_sequence - coalesce(search_rooms.indexed_sequence, 0) FROM chats \
         LEFT JOIN search_rooms ON search_rooms.chat_id = chats.id \
         WHERE chats.id > ? ORDER BY chats.id LIMIT ?",
    );
    let rooms = rooms
        .bind::<SqlUuid, _>(after.unwrap_or(ChatId::NIL).uuid())
        .bind::<BigInt, _>(ROOMS_AT_ONCE)
        .load::<(Uuid, bool, i64)>(&mut db)
        .await?;
    let is_last = i64::try_from(rooms.len()).unwrap_or(i64::MAX) < ROOMS_AT_ONCE;
    let last = rooms.last().filter(|_| !is_last).map(|(id, ..)| ChatId::new(*id));
    let behind = rooms.into_iter().filter(|(_, is_there, behind)| *is_there && *behind > 0);
    let rooms = behind.map(|(id, _, behind)| (ChatId::new(id), behind.cast_unsigned())).collect();
    Ok(RoomsBehind { rooms, last })
}
