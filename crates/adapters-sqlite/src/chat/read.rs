//! Reading one chat, and rosters.

use diesel::dsl::{count_star, sql};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel::sqlite::SqliteConnection;
use domain::chat::{Chat, ChatParts, Entrance, FoundChat, Roster};
use domain::id::{ChatId, ParticipantId, Sequence, UserId};
use domain::message::{MessageKind, counts_by_kind};

use super::list::list_some_on;
use super::load::{chat_on, participants_on, standing_on};
use crate::error::Fault;
use crate::row;
use crate::schema::{chats, messages};

pub(super) fn find_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
) -> Result<Option<Chat>, Fault> {
    if standing_on(connection, viewer, chat)?.may_read() { chat_on(connection, chat) } else { Ok(None) }
}

pub(super) fn entrance_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
) -> Result<Entrance, Fault> {
    let standing = standing_on(connection, viewer, chat)?;
    if !standing.may_read() {
        return Ok(Entrance::default());
    }
    let written = chats::table.find(row::bytes(chat.uuid())).select(chats::last_sequence);
    Ok(Entrance { standing, last_sequence: Sequence::new(written.get_result(connection)?) })
}

pub(super) fn find_with_details_on(
    connection: &mut SqliteConnection,
    viewer: UserId,
    id: ChatId,
    parts: ChatParts,
    count_messages: bool,
) -> Result<Option<FoundChat>, Fault> {
    let Some(listed) = list_some_on(connection, viewer, &[id], parts)?.rows.pop() else { return Ok(None) };
    let message_counts = if count_messages { Some(counts_on(connection, id)?) } else { None };
    Ok(Some(FoundChat { listed, message_counts }))
}

/// Runs along the index of events, without reading messages: the chat stores the number of all.
fn counts_on(connection: &mut SqliteConnection, chat: ChatId) -> Result<Vec<(MessageKind, u64)>, Fault> {
    let id = row::bytes(chat.uuid());
    let events = messages::table
        .filter(messages::chat_id.eq(&id))
        .filter(sql::<Bool>("kind <> 'text'"))
        .group_by(messages::kind)
        .select((messages::kind, count_star()))
        .load::<(String, i64)>(connection)?;
    let all = chats::table.find(&id).select(chats::last_sequence - chats::deleted_messages);
    let all = all.get_result::<i64>(connection)?;
    let events = events.into_iter();
    let events =
        events.map(|(kind, count)| Ok((row::word(&kind, MessageKind::parse)?, count.cast_unsigned())));
    Ok(counts_by_kind(all.cast_unsigned(), events.collect::<Result<_, Fault>>()?))
}

pub(super) fn roster_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
) -> Result<Option<Roster>, Fault> {
    if !standing_on(connection, viewer, chat)?.may_read() {
        return Ok(None);
    }
    Ok(Some(Roster { chat, participants: participants_on(connection, chat, None)? }))
}

pub(super) fn roster_unchecked_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
) -> Result<Option<Roster>, Fault> {
    if chat_on(connection, chat)?.is_none() {
        return Ok(None);
    }
    Ok(Some(Roster { chat, participants: participants_on(connection, chat, None)? }))
}
