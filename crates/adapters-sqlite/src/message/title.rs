//! Titles of chats that derive from their first texts.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::chat::{ChatTitle, ShownChat};
use domain::id::{AgentId, ChatId, MessageId};
use domain::message::{Message, Titling};

use super::load::message_on;
use crate::chat::load::chat_on;
use crate::chat::rename::shown_on;
use crate::error::Fault;
use crate::row;
use crate::schema::chats;

/// Records that `message` was the chat's first text, and sets the title; returns the chat if it got
/// one.
pub(super) fn give_on(
    connection: &mut SqliteConnection,
    message: &Message,
    titling: Titling,
) -> Result<Option<ShownChat>, Fault> {
    let title = titling.title.map(ChatTitle::into_string);
    let is_titled = title.is_some();
    diesel::update(chats::table.find(row::bytes(message.chat_id.uuid())))
        .set((chats::title.eq(title), chats::titled_by.eq(row::bytes(message.id.uuid()))))
        .execute(connection)?;
    if is_titled { renamed_chat_on(connection, message.chat_id).map(Some) } else { Ok(None) }
}

/// Updates the title of a chat that derives from this text; returns the chat if it changed.
pub(crate) fn follow_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    message: MessageId,
    title: Option<ChatTitle>,
) -> Result<Option<ShownChat>, Fault> {
    let title = title.map(ChatTitle::into_string);
    let of_text = chats::table
        .find(row::bytes(chat.uuid()))
        .filter(chats::titled_by.eq(row::bytes(message.uuid())))
        .filter(chats::title.is_not_null())
        .filter(chats::title.is_not(title.as_deref()));
    let changed = diesel::update(of_text).set(chats::title.eq(title.as_deref())).execute(connection)?;
    if changed > 0 { renamed_chat_on(connection, chat).map(Some) } else { Ok(None) }
}

/// Removes a title that derives from a text which `agent` may not read; returns the chat if there
/// was one.
pub(crate) fn hide_from_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    agent: AgentId,
) -> Result<Option<ShownChat>, Fault> {
    let titled_by = chats::table
        .find(row::bytes(chat.uuid()))
        .filter(chats::title.is_not_null())
        .select(chats::titled_by)
        .get_result::<Option<Vec<u8>>>(connection)
        .optional()?
        .flatten();
    let Some(titled_by) = titled_by else { return Ok(None) };
    let text = row::message_id(&titled_by)?;
    match message_on(connection, chat, text)? {
        Some(message) if message.is_readable_by(agent) => Ok(None),
        Some(_) | None => follow_on(connection, chat, text, None),
    }
}

fn renamed_chat_on(connection: &mut SqliteConnection, chat: ChatId) -> Result<ShownChat, Fault> {
    let chat = chat_on(connection, chat)?;
    shown_on(
        connection,
        chat.ok_or_else(|| Fault::Row("the chat disappeared within its own transaction".to_owned()))?,
    )
}
