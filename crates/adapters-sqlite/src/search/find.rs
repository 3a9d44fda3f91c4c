//! Finding messages.

use std::collections::BTreeMap;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use diesel::sqlite::SqliteConnection;
use domain::id::{ChatId, ParticipantId};
use domain::page::Page;
use domain::search::{
    Hit, IndexKeys, MAX_ROOM_KEYS, MessageSearch, RoomName, SearchKey, SearchPlace, SearchWalk,
    SearchedMessage, TITLED_ROOMS,
};

use super::row::{SearchedColumns, SearchedRow};
use crate::chat::load::standing_on;
use crate::error::Fault;
use crate::message::row::SenderHandle;
use crate::row::{self, Id};
use crate::statement::statement;

/// A message that may be a hit: its place, chat, and sequence.
type Candidate = (i64, Id, i64);

/// Messages by chat and sequence, each with the title of its chat.
type Read = BTreeMap<(Id, i64), (SearchedMessage, Option<String>)>;

pub(super) fn search_on(
    connection: &mut SqliteConnection,
    search: MessageSearch,
) -> Result<Page<Hit>, Fault> {
    let mut walk = SearchWalk::begin(search);
    let rooms = rooms_on(connection, walk.search())?;
    let keys = match &rooms {
        Some(rooms) if rooms.is_empty() => {
            walk.exhaust();
            return Ok(walk.end());
        }
        rooms => walk.search().query.keys(walk.search().viewer, rooms.as_deref().unwrap_or_default()),
    };
    let (wanted_keys, (first, _)) = (expression(&keys), walk.search().query.span());
    while walk.look()
        && let Some(wanted) = walk.wanted()
    {
        let candidates = candidates_on(connection, &wanted_keys, first, walk.place(), wanted)?;
        let mut read = read_on(connection, walk.search().viewer, &candidates)?;
        for (place, chat, sequence) in &candidates {
            walk.examine(SearchPlace::new(*place), read.remove(&(*chat, *sequence)));
        }
        if candidates.len() < wanted {
            walk.exhaust();
        }
    }
    Ok(walk.end())
}

/// The rooms in which a search looks, if the index can select them: those of a human, or those with the wanted name.
fn rooms_on(connection: &mut SqliteConnection, search: &MessageSearch) -> Result<Option<Vec<ChatId>>, Fault> {
    let name = search.query.room();
    let most = match name {
        // Whether others have candidates must not show in the length of a page.
        Some(RoomName::Id(chat)) => {
            let may_read = standing_on(connection, search.viewer, *chat)?.may_read();
            return Ok(Some(may_read.then_some(*chat).into_iter().collect()));
        }
        Some(RoomName::Title(_)) => TITLED_ROOMS,
        None if search.viewer.agent().is_some() => return Ok(None),
        None => MAX_ROOM_KEYS,
    };
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let rooms = match search.viewer {
        ParticipantId::User(user) => statement!(
            "SELECT DISTINCT participants.chat_id, chats.title \
             FROM participants INDEXED BY participants_rooms_of_account \
             CROSS JOIN chats ON chats.id = participants.chat_id \
             WHERE account_id = ? AND left_at IS NULL ORDER BY chat_created_at DESC, chat_id DESC LIMIT ? + 1"
            => (Binary, Nullable<Text>)
        )
        .bind::<Binary, _>(Id(user.uuid()))
        .bind::<BigInt, _>(most)
        .load::<(Id, Option<String>)>(connection)?,
        ParticipantId::Agent(agent) => statement!(
            "SELECT participants.chat_id, chats.title FROM participants INDEXED BY participants_rooms \
             CROSS JOIN chats ON chats.id = participants.chat_id \
             WHERE participant_id = ? AND left_at IS NULL ORDER BY chat_created_at DESC, chat_id DESC LIMIT ? + 1"
            => (Binary, Nullable<Text>)
        )
        .bind::<Binary, _>(Id(agent.uuid()))
        .bind::<BigInt, _>(most)
        .load::<(Id, Option<String>)>(connection)?,
    };
    let is_wanted =
        |chat: ChatId, title: Option<&str>| name.is_none_or(|name: &RoomName| name.is_of(chat, title));
    let rooms = rooms.into_iter().map(|(id, title)| (ChatId::new(id.0), title));
    let rooms = rooms.filter(|(chat, title)| is_wanted(*chat, title.as_deref())).map(|(chat, _)| chat);
    let rooms = rooms.collect::<Vec<_>>();
    Ok((rooms.len() <= MAX_ROOM_KEYS).then_some(rooms))
}

/// What FTS5 is asked for.
fn expression(keys: &IndexKeys) -> String {
    let quoted = |key: &SearchKey| format!("\"{key}\"");
    let mut parts = keys.all.iter().map(quoted).collect::<Vec<_>>();
    if !keys.any.is_empty() {
        parts.push(format!("({})", keys.any.iter().map(quoted).collect::<Vec<_>>().join(" OR ")));
    }
    parts.join(" AND ")
}

fn candidates_on(
    connection: &mut SqliteConnection,
    keys: &str,
    first: SearchPlace,
    before: SearchPlace,
    limit: usize,
) -> Result<Vec<Candidate>, Fault> {
    let candidates = statement!(
        "SELECT search_texts.place, search_texts.chat_id, search_texts.sequence FROM search_index \
         CROSS JOIN search_texts ON search_texts.place = search_index.rowid \
         WHERE search_index MATCH ? AND search_index.rowid >= ? AND search_index.rowid < ? \
         ORDER BY search_index.rowid DESC LIMIT ? + 0"
        => (BigInt, Binary, BigInt)
    );
    let candidates = candidates
        .bind::<Text, _>(keys)
        .bind::<BigInt, _>(first.number())
        .bind::<BigInt, _>(before.number())
        .bind::<BigInt, _>(i64::try_from(limit).unwrap_or(i64::MAX));
    Ok(candidates.load::<Candidate>(connection)?)
}

/// The messages of those candidates whose chats the viewer may read.
fn read_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    candidates: &[Candidate],
) -> Result<Read, Fault> {
    // A text for each kind of viewer. A human reads the chats of own agents as well.
    macro_rules! readable {
        ($index:literal, $column:literal, $id:expr) => {
            statement!(
                "SELECT ", SearchedRow::COLUMNS, ", ", SenderHandle::TEXT, ", chats.title \
                 FROM json_each(?) AS listed \
                 CROSS JOIN messages ON messages.chat_id = unhex(listed.value ->> 0) \
                 AND messages.sequence = listed.value ->> 1 \
                 CROSS JOIN chats ON chats.id = messages.chat_id AND chats.deleted_at IS NULL \
                 WHERE EXISTS (SELECT 1 FROM participants ", $index, " \
                 WHERE participants.chat_id = messages.chat_id AND participants.", $column, " = ? \
                 AND participants.left_at IS NULL)"
                => (SearchedColumns, Nullable<Text>)
            )
            .bind::<Text, _>(row::to_json(&list(candidates))?)
            .bind::<Binary, _>(Id($id))
            .load::<(SearchedRow, Option<String>)>(connection)?
        };
    }
    if candidates.is_empty() {
        return Ok(Read::new());
    }
    let rows = match viewer {
        ParticipantId::User(user) => {
            readable!("INDEXED BY participants_of_account", "account_id", user.uuid())
        }
        ParticipantId::Agent(agent) => readable!("", "participant_id", agent.uuid()),
    };
    let read = rows.into_iter().map(|(row, title)| {
        let key = (row.chat_id, row.sequence);
        Ok((key, (row.into_message()?, title)))
    });
    read.collect()
}

fn list(candidates: &[Candidate]) -> Vec<(String, i64)> {
    candidates.iter().map(|(_, chat, sequence)| (chat.hex(), *sequence)).collect()
}
