//! Storing a room with its creator.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::chat::{Chat, ChatStatus, ChatTitle, NewChat, ParticipantStatus, Role};

use crate::error::Fault;
use crate::row;
use crate::schema::{chats, participants};

pub(super) fn create_on(connection: &mut SqliteConnection, new: &NewChat) -> Result<Chat, Fault> {
    let chat = Chat {
        id: new.id,
        title: new.title.clone().map(ChatTitle::into_string),
        task_id: new.task_id,
        kind: new.kind,
        status: ChatStatus::Active,
        created_at: new.now,
        updated_at: new.now,
        last_message_at: None,
    };
    let now = new.now.micros();
    diesel::insert_into(chats::table)
        .values((
            chats::id.eq(row::bytes(chat.id.uuid())),
            chats::title.eq(&chat.title),
            chats::task_id.eq(chat.task_id.map(row::bytes)),
            chats::kind.eq(chat.kind.as_str()),
            chats::status.eq(chat.status.as_str()),
            chats::last_sequence.eq(0),
            chats::created_at.eq(now),
            chats::updated_at.eq(now),
        ))
        .execute(connection)?;
    diesel::insert_into(participants::table)
        .values((
            participants::chat_id.eq(row::bytes(chat.id.uuid())),
            participants::participant_id.eq(row::bytes(new.creator.uuid())),
            participants::kind.eq(new.creator.kind().as_str()),
            participants::role.eq(Role::Owner.as_str()),
            participants::status.eq(ParticipantStatus::Active.as_str()),
            participants::chat_created_at.eq(now),
            participants::joined_at.eq(now),
        ))
        .execute(connection)?;
    Ok(chat)
}
