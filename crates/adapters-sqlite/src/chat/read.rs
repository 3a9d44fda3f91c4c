//! Reading rooms and rosters.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::chat::{Chat, Roster};
use domain::id::{ChatId, ParticipantId};
use domain::page::{Page, PageRequest, Position};

use super::row::{ChatRow, chat_on, membership_on, participants_on};
use crate::error::Fault;
use crate::row;
use crate::schema::{chats, participants};

pub(super) fn find_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
) -> Result<Option<Chat>, Fault> {
    if membership_on(connection, viewer, chat)?.is_none() {
        return Ok(None);
    }
    chat_on(connection, chat)
}

/// Runs along the index of the viewer's memberships, which carries the room's creation time.
pub(super) fn list_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    page: PageRequest,
) -> Result<Page<Chat>, Fault> {
    let joined = participants::table
        .inner_join(chats::table)
        .filter(participants::participant_id.eq(row::bytes(viewer.uuid())))
        .filter(participants::left_at.is_null())
        .filter(chats::deleted_at.is_null());
    let total =
        if page.count { Some(joined.clone().select(count_star()).first::<i64>(connection)?) } else { None };
    let mut rows = joined.select(ChatRow::as_select()).into_boxed();
    if let Some(Position { key, id }) = page.slice.after() {
        let same_time = participants::chat_created_at.eq(key).and(participants::chat_id.lt(row::bytes(id)));
        rows = rows.filter(participants::chat_created_at.le(key));
        rows = rows.filter(participants::chat_created_at.lt(key).or(same_time));
    }
    let rows = rows
        .order((participants::chat_created_at.desc(), participants::chat_id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .load(connection)?;
    let rows = rows.into_iter().map(ChatRow::into_chat).collect::<Result<Vec<_>, _>>()?;
    Ok(Page::from_overfetch(rows, page, total.map(i64::cast_unsigned), |chat| Position {
        key: chat.created_at.micros(),
        id: chat.id.uuid(),
    }))
}

pub(super) fn roster_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
) -> Result<Option<Roster>, Fault> {
    if membership_on(connection, viewer, chat)?.is_none() {
        return Ok(None);
    }
    Ok(Some(Roster { chat, participants: participants_on(connection, chat, None)? }))
}
