//! All of a room, newest first.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::id::{ChatId, ParticipantId};
use domain::message::{HistoryFilter, Message};
use domain::page::{Page, PageRequest};

use super::load::{MessageRow, Records, messages_on, position};
use crate::chat::row::membership_on;
use crate::error::Fault;
use crate::row;
use crate::schema::{chats, messages};

pub(super) fn history_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
    filter: HistoryFilter,
    page: PageRequest,
) -> Result<Option<Page<Message>>, Fault> {
    if membership_on(connection, viewer, chat)?.is_none() {
        return Ok(None);
    }
    let total = if page.count { Some(count_on(connection, chat, filter)?) } else { None };
    let mut rows = messages::table
        .filter(messages::chat_id.eq(row::bytes(chat.uuid())))
        .select(MessageRow::as_select())
        .into_boxed();
    if let Some(kind) = filter.kind {
        rows = rows.filter(messages::kind.eq(kind.as_str()));
    }
    if let Some(since) = filter.since {
        rows = rows.filter(messages::created_at.gt(since.micros()));
    }
    if let Some(after) = page.slice.after() {
        rows = rows.filter(messages::sequence.lt(after.key));
    }
    let rows = rows
        .order(messages::sequence.desc())
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .load(connection)?;
    let rows = messages_on(connection, rows, Records::All)?;
    Ok(Some(Page::from_overfetch(rows, page, total, position)))
}

/// Without a filter the room's sequence is the number of its messages.
fn count_on(connection: &mut SqliteConnection, chat: ChatId, filter: HistoryFilter) -> Result<u64, Fault> {
    let chat = row::bytes(chat.uuid());
    if filter == HistoryFilter::default() {
        let last = chats::table.find(chat).select(chats::last_sequence).first::<i64>(connection)?;
        return Ok(last.cast_unsigned());
    }
    let mut rows = messages::table.filter(messages::chat_id.eq(chat)).select(count_star()).into_boxed();
    if let Some(kind) = filter.kind {
        rows = rows.filter(messages::kind.eq(kind.as_str()));
    }
    if let Some(since) = filter.since {
        rows = rows.filter(messages::created_at.gt(since.micros()));
    }
    Ok(rows.first::<i64>(connection)?.cast_unsigned())
}
