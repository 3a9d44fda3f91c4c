//! Storing a new title or default deadline of a chat.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::chat::{Chat, RenameChat, RenameChatRefused, ShownChat};
use domain::id::{ChatId, UserId};
use futures_util::future::try_join;
use uuid::Uuid;

use super::details::details_on;
use super::load::{locked_chat_on, standing_on};
use super::row::{max_hops_column, respond_within_column};
use crate::audit;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::{chats, participants};

pub(super) async fn rename_on(
    mut db: &Db,
    command: &RenameChat,
) -> Result<Result<ShownChat, RenameChatRefused>, Fault> {
    let Some(chat) = locked_chat_on(db, command.chat).await? else {
        return Ok(Err(RenameChatRefused::ChatNotFound));
    };
    let standing = standing_on(db, command.by.participant(), command.chat).await?;
    if let Err(refused) = standing.decide_rename() {
        return Ok(Err(refused));
    }
    let chat = command.changes.apply(chat, command.now);
    diesel::update(chats::table.find(command.chat.uuid()))
        .set((
            chats::respond_within.eq(chat.respond_within.map(respond_within_column)),
            chats::max_hops.eq(chat.max_hops.map(max_hops_column)),
            chats::updated_at.eq(At(command.now)),
            command
                .changes
                .title
                .as_ref()
                .map(|title| (chats::title.eq(title.as_str()), chats::titled_by.eq(None::<Uuid>))),
        ))
        .execute(&mut db)
        .await?;
    audit::append_on(db, AuditEntry::chat_renamed(command)).await?;
    shown_on(db, chat).await.map(Ok)
}

/// A chat that was just changed, as its humans see it.
pub(crate) async fn shown_on(db: &Db, chat: Chat) -> Result<ShownChat, Fault> {
    let room = [chat.id];
    let (users, mut details) = try_join(users_on(db, chat.id), details_on(db, &room)).await?;
    let details = details.remove(&chat.id).unwrap_or_default();
    Ok(ShownChat { chat, details, users })
}

/// The humans in a chat, by id.
async fn users_on(mut db: &Db, chat: ChatId) -> Result<Vec<UserId>, Fault> {
    let users = participants::table
        .filter(participants::chat_id.eq(chat.uuid()))
        .filter(participants::kind.eq("User"))
        .filter(participants::left_at.is_null())
        .order(participants::participant_id)
        .select(participants::participant_id)
        .load::<Uuid>(&mut db)
        .await?;
    Ok(users.into_iter().map(UserId::new).collect())
}
