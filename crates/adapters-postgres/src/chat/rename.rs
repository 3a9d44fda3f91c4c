//! Storing a new title or default deadline of a chat.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::chat::{Chat, RenameChat, RenameChatRefused, ShownChat};
use domain::id::{ChatId, UserId};
use futures_util::future::{try_join, try_join3};
use uuid::Uuid;

use super::details::{details_on, uuids};
use super::load::{locked_chat_on, standing_on};
use super::row::{ChatRow, max_hops_column, respond_within_column};
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
    let (mut users, mut details) = try_join(users_on(db, &room), details_on(db, &room)).await?;
    Ok(ShownChat::with_parts(chat, &mut users, &mut details))
}

/// Those of the chats that exist, as their humans see them.
pub(crate) async fn all_shown_on(db: &Db, chats: &[ChatId]) -> Result<Vec<ShownChat>, Fault> {
    let read = try_join3(rooms_on(db, chats), users_on(db, chats), details_on(db, chats));
    let (rooms, mut users, mut details) = read.await?;
    let shown = |row: ChatRow| Ok(ShownChat::with_parts(row.into_chat()?, &mut users, &mut details));
    rooms.into_iter().map(shown).collect()
}

async fn rooms_on(mut db: &Db, chats: &[ChatId]) -> Result<Vec<ChatRow>, Fault> {
    let found = chats::table.filter(chats::id.eq_any(uuids(chats))).filter(chats::deleted_at.is_null());
    Ok(found.select(ChatRow::as_select()).load(&mut db).await?)
}

/// The humans in chats, by id.
async fn users_on(mut db: &Db, chats: &[ChatId]) -> Result<HashMap<ChatId, Vec<UserId>>, Fault> {
    let found = participants::table
        .filter(participants::chat_id.eq_any(uuids(chats)))
        .filter(participants::kind.eq("User"))
        .filter(participants::left_at.is_null())
        .order((participants::chat_id, participants::participant_id))
        .select((participants::chat_id, participants::participant_id))
        .load::<(Uuid, Uuid)>(&mut db)
        .await?;
    let mut users = HashMap::<_, Vec<_>>::with_capacity(chats.len());
    for (chat, user) in found {
        users.entry(ChatId::new(chat)).or_default().push(UserId::new(user));
    }
    Ok(users)
}
