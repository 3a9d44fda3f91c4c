//! Keeping the index.
//!
//! The row of a room in `search_rooms` is locked while its messages are indexed, and by whatever edits or deletes one of
//! them, until its end: in between, the other sees what the first has committed. Sending a message takes no such lock.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

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

pub(super) async fn index_on(mut db: &Db, rooms: &[ChatId]) -> Result<Result<IndexStep, Infallible>, Fault> {
    let ids = rooms.iter().map(|room| room.uuid()).collect::<Vec<_>>();
    let (states, mut batch) = (states_on(db, ids).await?, IndexBatch::default());
    for room in rooms {
        let wanted = batch.wanted();
        let Some((last, indexed)) = states.get(&room.uuid()).copied() else {
            // Deleted, or another transaction has it.
            continue;
        };
        match indexed {
            None => batch.leave(*room),
            Some(_) if wanted == 0 => batch.leave(*room),
            Some(indexed) if indexed >= 0 && indexed < last => {
                let (columns, handle) = (SearchedRow::COLUMNS, SenderHandle::TEXT);
                let next = statement::<SearchedColumns>(format!(
                    "SELECT {columns}, {handle} FROM messages \
                     WHERE messages.chat_id = ? AND messages.sequence > ? AND messages.sequence <= ? \
                     ORDER BY messages.sequence LIMIT ?"
                ));
                let next = next
                    .bind::<SqlUuid, _>(room.uuid())
                    .bind::<BigInt, _>(indexed)
                    .bind::<BigInt, _>(last)
                    .bind::<BigInt, _>(i64::try_from(wanted).unwrap_or(i64::MAX))
                    .load::<SearchedRow>(&mut db)
                    .await?;
                let next = next.into_iter().map(SearchedRow::into_message).collect::<Result<Vec<_>, _>>()?;
                batch.add(*room, Sequence::new(last), next);
            }
            Some(_) => {}
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
    Ok(Ok(batch.step()))
}

/// The last sequence of each room that is not deleted, and the one up to which it is indexed, after locking the latter;
/// `None` if another transaction has locked it.
async fn states_on(mut db: &Db, rooms: Vec<Uuid>) -> Result<HashMap<Uuid, (i64, Option<i64>)>, Fault> {
    statement::<()>(
        "INSERT INTO search_rooms (chat_id, indexed_sequence) \
         SELECT id, 0 FROM chats WHERE id = ANY(?) AND deleted_at IS NULL ORDER BY id \
         ON CONFLICT (chat_id) DO NOTHING",
    )
    .bind::<Array<SqlUuid>, _>(rooms.clone())
    .execute(&mut db)
    .await?;
    let locked = statement::<(SqlUuid, BigInt)>(
        "SELECT chat_id, indexed_sequence FROM search_rooms WHERE chat_id = ANY(?) ORDER BY chat_id \
         FOR UPDATE SKIP LOCKED",
    )
    .bind::<Array<SqlUuid>, _>(rooms.clone())
    .load::<(Uuid, i64)>(&mut db)
    .await?;
    let locked = locked.into_iter().collect::<HashMap<_, _>>();
    // Read after the lock: all messages up to this sequence are committed.
    let last = statement::<(SqlUuid, BigInt)>(
        "SELECT id, last_sequence FROM chats WHERE id = ANY(?) AND deleted_at IS NULL",
    )
    .bind::<Array<SqlUuid>, _>(rooms)
    .load::<(Uuid, i64)>(&mut db)
    .await?;
    Ok(last.into_iter().map(|(room, last)| (room, (last, locked.get(&room).copied()))).collect())
}

/// Inserts entries, each at its place or the next one that is free.
async fn insert_on(mut db: &Db, entries: &[IndexEntry]) -> Result<(), Fault> {
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
pub(super) async fn erase_some_on(mut db: &Db) -> Result<Result<bool, Infallible>, Fault> {
    let Some(room) = closed_room_on(db).await? else { return Ok(Ok(false)) };
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
    Ok(Ok(true))
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
