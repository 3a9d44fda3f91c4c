//! Finding messages.

use std::collections::HashMap;

use diesel::OptionalExtension;
use diesel::sql_types::{Array, BigInt, Integer, Nullable, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{ChatId, ParticipantId};
use domain::page::Page;
use domain::search::{
    Hit, IndexKeys, MAX_ROOM_KEYS, MessageSearch, RoomName, SearchKey, SearchPlace, SearchWalk,
    SearchedMessage, TITLED_ROOMS,
};
use uuid::Uuid;

use super::row::{SearchedColumns, SearchedRow};
use super::span::{Span, Spans};
use crate::chat::load::standing_on;
use crate::error::Fault;
use crate::message::row::SenderHandle;
use crate::run::{Db, execute};
use crate::statement::statement;

/// The number of candidates above which a span is too long.
const CANDIDATES: usize = 2_048;

/// A message that may be a hit: its place, chat, and sequence.
type Candidate = (i64, Uuid, i64);

/// Messages by chat and sequence, each with the title of its chat.
type Read = HashMap<(Uuid, i64), (SearchedMessage, Option<String>)>;

pub(super) async fn search_on(db: &Db, search: &MessageSearch) -> Result<Page<Hit>, Fault> {
    let mut walk = SearchWalk::begin(search.clone());
    let rooms = rooms_on(db, search).await?;
    if rooms.as_ref().is_some_and(Vec::is_empty) {
        walk.exhaust();
        return Ok(walk.end());
    }
    let keys = search.query.keys(search.viewer, rooms.as_deref().unwrap_or_default());
    // The first candidates of a whole table look cheaper to the planner than all candidates of the index.
    execute(db, "SET LOCAL enable_seqscan = off").await?;
    let (mut first, _) = search.query.span();
    match ends_on(db).await? {
        Some((oldest, newest)) => {
            walk.pass(SearchPlace::new(newest + 1));
            first = first.max(SearchPlace::new(oldest));
        }
        None => walk.exhaust(),
    }
    let mut spans = Spans::begin(first);
    while walk.look() {
        let Some(span) = spans.before(walk.place()) else {
            walk.exhaust();
            break;
        };
        let candidates = candidates_on(db, &keys, span).await?;
        let is_full = candidates.len() > CANDIDATES;
        if is_full && !span.is_shortest {
            spans.shorten();
            continue;
        }
        examine_on(db, &mut walk, &candidates).await?;
        // The rest of a full span follows.
        if !is_full {
            walk.pass(SearchPlace::new(span.from));
            // A time without any messages is skipped, or the spans would be too long when messages are reached again.
            if candidates.is_empty()
                && let Some(newest) = newest_before_on(db, span.from).await?
            {
                walk.pass(SearchPlace::new(newest + 1));
            }
            spans.lengthen();
        }
    }
    Ok(walk.end())
}

/// The oldest and the newest place in the index.
async fn ends_on(mut db: &Db) -> Result<Option<(i64, i64)>, Fault> {
    let ends = statement::<(BigInt, BigInt)>(
        "SELECT oldest.place, newest.place FROM (SELECT place FROM search_texts ORDER BY place LIMIT 1) AS oldest, \
         (SELECT place FROM search_texts ORDER BY place DESC LIMIT 1) AS newest",
    );
    Ok(ends.get_result::<(i64, i64)>(&mut db).await.optional()?)
}

/// The newest place before this one.
async fn newest_before_on(mut db: &Db, place: i64) -> Result<Option<i64>, Fault> {
    let newest =
        statement::<BigInt>("SELECT place FROM search_texts WHERE place < ? ORDER BY place DESC LIMIT 1");
    Ok(newest.bind::<BigInt, _>(place).get_result::<i64>(&mut db).await.optional()?)
}

/// Examines candidates, which are in the order of their places, in small parts.
async fn examine_on(db: &Db, walk: &mut SearchWalk, candidates: &[Candidate]) -> Result<(), Fault> {
    let mut rest = candidates;
    while let Some(wanted) = walk.wanted()
        && !rest.is_empty()
    {
        let (part, behind) = rest.split_at(wanted.min(rest.len()));
        let mut read = read_on(db, walk.search().viewer, part).await?;
        for (place, chat, sequence) in part {
            walk.examine(SearchPlace::new(*place), read.remove(&(*chat, *sequence)));
        }
        rest = behind;
    }
    Ok(())
}

const ROOMS_OF_USER: &str = "SELECT chat_id, title FROM (\
     SELECT DISTINCT participants.chat_id, chat_created_at, chats.title FROM participants \
     JOIN chats ON chats.id = participants.chat_id WHERE account_id = ? AND left_at IS NULL) AS rooms \
     ORDER BY chat_created_at DESC, chat_id DESC LIMIT ?";

const ROOMS_OF_AGENT: &str = "SELECT participants.chat_id, chats.title FROM participants \
     JOIN chats ON chats.id = participants.chat_id WHERE participant_id = ? AND left_at IS NULL \
     ORDER BY chat_created_at DESC, chat_id DESC LIMIT ?";

/// The rooms in which a search looks, if the index can select them: those of a human, or those with the wanted name.
async fn rooms_on(mut db: &Db, search: &MessageSearch) -> Result<Option<Vec<ChatId>>, Fault> {
    let name = search.query.room();
    let most = match name {
        // Whether others have candidates must not show in the length of a page.
        Some(RoomName::Id(chat)) => {
            let may_read = standing_on(db, search.viewer, *chat).await?.may_read();
            return Ok(Some(may_read.then_some(*chat).into_iter().collect()));
        }
        Some(RoomName::Title(_)) => TITLED_ROOMS,
        None if search.viewer.agent().is_some() => return Ok(None),
        None => MAX_ROOM_KEYS,
    };
    let (text, id) = match search.viewer {
        ParticipantId::User(user) => (ROOMS_OF_USER, user.uuid()),
        ParticipantId::Agent(agent) => (ROOMS_OF_AGENT, agent.uuid()),
    };
    let rooms = statement::<(SqlUuid, Nullable<Text>)>(text)
        .bind::<SqlUuid, _>(id)
        .bind::<BigInt, _>(i64::try_from(most + 1).unwrap_or(i64::MAX))
        .load::<(Uuid, Option<String>)>(&mut db)
        .await?;
    let is_wanted =
        |chat: ChatId, title: Option<&str>| name.is_none_or(|name: &RoomName| name.is_of(chat, title));
    let rooms = rooms.into_iter().map(|(id, title)| (ChatId::new(id), title));
    let rooms = rooms.filter(|(chat, title)| is_wanted(*chat, title.as_deref())).map(|(chat, _)| chat);
    let rooms = rooms.collect::<Vec<_>>();
    Ok((rooms.len() <= MAX_ROOM_KEYS).then_some(rooms))
}

/// Places with `+ 0` are not looked up: the index on them would be read from end to end for a rare word.
const CANDIDATES_OF_ALL: &str = "SELECT place, chat_id, sequence FROM search_texts \
     WHERE keys @> ? AND place + 0 >= ? AND place + 0 < ? ";

const CANDIDATES_OF_ANY: &str = "SELECT place, chat_id, sequence FROM search_texts \
     WHERE keys @> ? AND keys && ? AND place + 0 >= ? AND place + 0 < ? ";

/// The candidates of a span, newest first: all of them, or one more than [`CANDIDATES`]. If there are more, they are the newest
/// only in a shortest span.
async fn candidates_on(mut db: &Db, keys: &IndexKeys, span: Span) -> Result<Vec<Candidate>, Fault> {
    let numbers = |keys: &[SearchKey]| keys.iter().map(|key| key.number()).collect::<Vec<_>>();
    let mut all = numbers(&keys.all);
    all.extend(span.key.map(SearchKey::number));
    let rest = if span.is_shortest { "ORDER BY place + 0 DESC LIMIT ?" } else { "LIMIT ?" };
    let text = if keys.any.is_empty() { CANDIDATES_OF_ALL } else { CANDIDATES_OF_ANY };
    let mut candidates = statement::<(BigInt, SqlUuid, BigInt)>(format!("{text}{rest}"));
    candidates = candidates.bind::<Array<Integer>, _>(all);
    if !keys.any.is_empty() {
        candidates = candidates.bind::<Array<Integer>, _>(numbers(&keys.any));
    }
    let mut candidates = candidates
        .bind::<BigInt, _>(span.from)
        .bind::<BigInt, _>(span.to)
        .bind::<BigInt, _>(i64::try_from(CANDIDATES + 1).unwrap_or(i64::MAX))
        .load::<Candidate>(&mut db)
        .await?;
    candidates.sort_unstable_by(|one, other| other.cmp(one));
    Ok(candidates)
}

/// The messages of those candidates whose chats the viewer may read. A human reads the chats of own agents as well.
async fn read_on(mut db: &Db, viewer: ParticipantId, candidates: &[Candidate]) -> Result<Read, Fault> {
    if candidates.is_empty() {
        return Ok(Read::new());
    }
    let (column, id) = match viewer {
        ParticipantId::User(user) => ("account_id", user.uuid()),
        ParticipantId::Agent(agent) => ("participant_id", agent.uuid()),
    };
    let (columns, handle) = (SearchedRow::COLUMNS, SenderHandle::TEXT);
    let rows = statement::<(SearchedColumns, Nullable<Text>)>(format!(
        "SELECT {columns}, {handle}, chats.title FROM unnest(?, ?) AS listed (chat_id, sequence) \
         JOIN messages ON messages.chat_id = listed.chat_id AND messages.sequence = listed.sequence \
         JOIN chats ON chats.id = messages.chat_id AND chats.deleted_at IS NULL \
         WHERE EXISTS (SELECT 1 FROM participants WHERE participants.chat_id = listed.chat_id \
         AND participants.{column} = ? AND participants.left_at IS NULL)"
    ));
    let rows = rows
        .bind::<Array<SqlUuid>, _>(candidates.iter().map(|(_, chat, _)| *chat).collect::<Vec<_>>())
        .bind::<Array<BigInt>, _>(candidates.iter().map(|(.., sequence)| *sequence).collect::<Vec<_>>())
        .bind::<SqlUuid, _>(id)
        .load::<(SearchedRow, Option<String>)>(&mut db)
        .await?;
    let read = rows.into_iter().map(|(row, title)| {
        let key = (row.chat_id.0, row.sequence);
        Ok((key, (row.into_message()?, title)))
    });
    read.collect()
}
