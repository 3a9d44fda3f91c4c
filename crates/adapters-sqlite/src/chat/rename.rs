//! Storing a new title or default deadline of a chat.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::chat::{Chat, RenameChat, RenameChatRefused, ShownChat};

use super::details::details_on;
use super::load::{chat_on, standing_on};
use super::row::{max_hops_column, respond_within_column};
use crate::audit;
use crate::error::Fault;
use crate::row;
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
    let users = participants::table
        .filter(participants::chat_id.eq(row::bytes(chat.id.uuid())))
        .filter(participants::kind.eq("User"))
        .filter(participants::left_at.is_null())
        .order(participants::participant_id)
        .select(participants::participant_id)
        .load::<Vec<u8>>(connection)?;
    let users = users.iter().map(|id| row::user_id(id)).collect::<Result<_, _>>()?;
    let details = details_on(connection, &[chat.id])?.remove(&chat.id).unwrap_or_default();
    Ok(ShownChat { chat, details, users })
}
