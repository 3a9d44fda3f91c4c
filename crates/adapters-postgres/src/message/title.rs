//! Titles of chats that derive from their first texts. The callers have locked the chats.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::chat::{ChatTitle, ShownChat};
use domain::id::{AgentId, ChatId, MessageId};
use domain::message::Titling;
use uuid::Uuid;

use super::load::message_on;
use crate::chat::load::chat_on;
use crate::chat::rename::shown_on;
use crate::error::Fault;
use crate::run::Db;
use crate::schema::chats;

/// Records that `message` was the chat's first text, and sets the title; returns the chat if it got
/// one.
pub(super) async fn give_on(
    mut db: &Db,
    chat: ChatId,
    message: MessageId,
    titling: Titling,
) -> Result<Option<ShownChat>, Fault> {
    let title = titling.title.map(ChatTitle::into_string);
    let is_titled = title.is_some();
    diesel::update(chats::table.find(chat.uuid()))
        .set((chats::title.eq(title), chats::titled_by.eq(message.uuid())))
        .execute(&mut db)
        .await?;
    if is_titled { renamed_chat_on(db, chat).await.map(Some) } else { Ok(None) }
}

/// Updates the title of a chat that derives from this text; returns the chat if it changed.
pub(crate) async fn follow_on(
    mut db: &Db,
    chat: ChatId,
    message: MessageId,
    title: Option<ChatTitle>,
) -> Result<Option<ShownChat>, Fault> {
    let title = title.map(ChatTitle::into_string);
    let of_text = chats::table
        .find(chat.uuid())
        .filter(chats::titled_by.eq(message.uuid()))
        .filter(chats::title.is_not_null())
        .filter(chats::title.is_distinct_from(title.clone()));
    let changed = diesel::update(of_text).set(chats::title.eq(title)).execute(&mut db).await?;
    if changed > 0 { renamed_chat_on(db, chat).await.map(Some) } else { Ok(None) }
}

/// Removes a title that derives from a text which `agent` may not read; returns the chat if there
/// was one.
pub(crate) async fn hide_from_on(
    mut db: &Db,
    chat: ChatId,
    agent: AgentId,
) -> Result<Option<ShownChat>, Fault> {
    let titled_by = chats::table
        .find(chat.uuid())
        .filter(chats::title.is_not_null())
        .select(chats::titled_by)
        .first::<Option<Uuid>>(&mut db)
        .await
        .optional()?
        .flatten();
    let Some(text) = titled_by.map(MessageId::new) else { return Ok(None) };
    match message_on(db, chat, text).await? {
        Some(message) if message.is_readable_by(agent) => Ok(None),
        Some(_) | None => follow_on(db, chat, text, None).await,
    }
}

async fn renamed_chat_on(db: &Db, chat: ChatId) -> Result<ShownChat, Fault> {
    let chat = chat_on(db, chat).await?;
    shown_on(
        db,
        chat.ok_or_else(|| Fault::Row("the chat disappeared within its own transaction".to_owned()))?,
    )
    .await
}
