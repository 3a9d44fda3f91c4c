//! Storing a new title or default deadline of a chat.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::chat::{Chat, RenameChat, RenameChatRefused, ShownChat};
use domain::id::{ChatId, UserId};

use super::details::details_on;
use super::load::{chat_on, standing_on};
use super::row::{ChatRow, max_hops_column, respond_within_column};
use crate::audit;
use crate::error::Fault;
use crate::row::{self, Id};
use crate::schema::{chats, participants};

pub(super) fn rename_on(
    connection: &mut SqliteConnection,
    command: &RenameChat,
) -> Result<Result<ShownChat, RenameChatRefused>, Fault> {
    let standing = standing_on(connection, command.by.participant(), command.chat)?;
    if let Err(refused) = standing.decide_rename() {
        return Ok(Err(refused));
    }
    let Some(chat) = chat_on(connection, command.chat)? else {
        return Ok(Err(RenameChatRefused::ChatNotFound));
    };
    let column = row::bytes(command.chat.uuid());
    let chat = command.changes.apply(chat, command.now);
    diesel::update(chats::table.find(&column))
        .set((
            chats::respond_within.eq(chat.respond_within.map(respond_within_column)),
            chats::max_hops.eq(chat.max_hops.map(max_hops_column)),
            chats::updated_at.eq(command.now.micros()),
            command
                .changes
                .title
                .as_ref()
                .map(|title| (chats::title.eq(title.as_str()), chats::titled_by.eq(None::<Vec<u8>>))),
        ))
        .execute(connection)?;
    audit::append_on(connection, AuditEntry::chat_renamed(command))?;
    shown_on(connection, chat).map(Ok)
}

/// A chat that was just changed, as its humans see it.
pub(crate) fn shown_on(connection: &mut SqliteConnection, chat: Chat) -> Result<ShownChat, Fault> {
    let room = [chat.id];
    let mut users = users_on(connection, &room)?;
    Ok(ShownChat::with_parts(chat, &mut users, &mut details_on(connection, &room)?))
}

/// Those of the chats that exist, as their humans see them.
pub(crate) fn all_shown_on(
    connection: &mut SqliteConnection,
    chats: &[ChatId],
) -> Result<Vec<ShownChat>, Fault> {
    let found = chats::table.filter(chats::id.eq_any(ids(chats))).filter(chats::deleted_at.is_null());
    let rooms = found.select(ChatRow::as_select()).load(connection)?;
    let (mut users, mut details) = (users_on(connection, chats)?, details_on(connection, chats)?);
    let shown = |row: ChatRow| Ok(ShownChat::with_parts(row.into_chat()?, &mut users, &mut details));
    rooms.into_iter().map(shown).collect()
}

/// The humans in chats, by id.
fn users_on(
    connection: &mut SqliteConnection,
    chats: &[ChatId],
) -> Result<HashMap<ChatId, Vec<UserId>>, Fault> {
    let found = participants::table
        .filter(participants::chat_id.eq_any(ids(chats)))
        .filter(participants::kind.eq("User"))
        .filter(participants::left_at.is_null())
        .order((participants::chat_id, participants::participant_id))
        .select((participants::chat_id, participants::participant_id))
        .load::<(Id, Id)>(connection)?;
    let mut users = HashMap::<_, Vec<_>>::with_capacity(chats.len());
    for (chat, user) in found {
        users.entry(ChatId::new(chat.0)).or_default().push(UserId::new(user.0));
    }
    Ok(users)
}

fn ids(chats: &[ChatId]) -> Vec<Id> {
    chats.iter().map(|chat| Id(chat.uuid())).collect()
}
