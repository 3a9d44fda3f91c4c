//! Reads chats, memberships, and participants.

use diesel::prelude::*;
use diesel::sql_types::{Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::chat::{Chat, OwnMembership, Participant, Standing};
use domain::id::{AccountId, ChatId, ParticipantId};

use super::row::{ChatRow, OwnMembershipRow, ParticipantRow, StandingRow};
use crate::error::Fault;
use crate::run::Db;
use crate::schema::{agents, chats, organizations, participants, users};

/// The columns of [`ChatRow`], and their types.
pub(super) const CHAT_COLUMNS: &str = "chats.id, chats.title, chats.task_id, chats.kind, chats.status, \
     chats.created_at, chats.updated_at, chats.last_message_at, chats.respond_within, chats.max_hops";
pub(super) type SqlChat = (
    SqlUuid,
    Nullable<Text>,
    Nullable<SqlUuid>,
    Text,
    Text,
    Timestamptz,
    Timestamptz,
    Nullable<Timestamptz>,
    Nullable<Integer>,
    Nullable<Integer>,
);

/// A chat that is not deleted.
pub(crate) async fn chat_on(mut db: &Db, chat: ChatId) -> Result<Option<Chat>, Fault> {
    let found = chats::table
        .find(chat.uuid())
        .filter(chats::deleted_at.is_null())
        .select(ChatRow::as_select())
        .first(&mut db)
        .await
        .optional()?;
    found.map(ChatRow::into_chat).transpose()
}

/// A chat that is not deleted, after locking it like [`crate::lock::chat_on`] does.
pub(crate) async fn locked_chat_on(mut db: &Db, chat: ChatId) -> Result<Option<Chat>, Fault> {
    let found = chats::table
        .find(chat.uuid())
        .filter(chats::deleted_at.is_null())
        .select(ChatRow::as_select())
        .for_no_key_update()
        .first(&mut db)
        .await
        .optional()?;
    found.map(ChatRow::into_chat).transpose()
}

/// The membership of a participant of a chat that is not deleted.
pub(crate) async fn membership_on(
    mut db: &Db,
    who: ParticipantId,
    chat: ChatId,
) -> Result<Option<OwnMembership>, Fault> {
    let found = participants::table
        .inner_join(chats::table)
        .filter(participants::chat_id.eq(chat.uuid()))
        .filter(participants::participant_id.eq(who.uuid()))
        .filter(participants::left_at.is_null())
        .filter(chats::deleted_at.is_null())
        .left_join(organizations::table.on(chats::organization_id.eq(organizations::id.nullable())))
        .select((
            participants::kind,
            participants::role,
            participants::status,
            participants::stopped_at,
            participants::agent_paused_at,
            participants::joined_at,
            organizations::paused_at.nullable(),
        ))
        .first::<OwnMembershipRow>(&mut db)
        .await
        .optional()?;
    found.map(OwnMembershipRow::into_membership).transpose()
}

/// The standing of a viewer in a chat that is not deleted.
pub(crate) async fn standing_on(db: &Db, viewer: ParticipantId, chat: ChatId) -> Result<Standing, Fault> {
    Ok(viewed_chat_on(db, viewer, chat).await?.standing)
}

/// A chat as a viewer sees it.
#[derive(Default)]
pub(super) struct ViewedChat {
    pub(super) standing: Standing,
    /// The chat and its last sequence, if the viewer has any standing in it.
    pub(super) seen: Option<(ChatRow, i64)>,
}

/// The viewer's standing in a chat that is not deleted, with the chat: one statement for both.
pub(super) async fn viewed_chat_on(
    mut db: &Db,
    viewer: ParticipantId,
    chat: ChatId,
) -> Result<ViewedChat, Fault> {
    let rows = participants::table
        .inner_join(chats::table)
        .filter(participants::chat_id.eq(chat.uuid()))
        .filter(participants::left_at.is_null())
        .filter(chats::deleted_at.is_null())
        .order(participants::participant_id)
        .select((StandingRow::as_select(), ChatRow::as_select(), chats::last_sequence));
    let rows = match viewer {
        ParticipantId::User(user) => {
            rows.filter(participants::account_id.eq(user.uuid())).load(&mut db).await?
        }
        ParticipantId::Agent(agent) => {
            rows.filter(participants::participant_id.eq(agent.uuid())).load(&mut db).await?
        }
    };
    let mut found = ViewedChat::default();
    for (membership, chat, last_sequence) in rows {
        membership.add_to(viewer, &mut found.standing)?;
        found.seen = Some((chat, last_sequence));
    }
    Ok(found)
}

/// All participants of a chat, or only `who`; oldest first.
pub(crate) async fn participants_on(
    mut db: &Db,
    chat: ChatId,
    who: Option<AccountId>,
) -> Result<Vec<Participant>, Fault> {
    let present = participants::table
        .left_join(
            users::table.on(participants::kind.eq("User").and(users::id.eq(participants::participant_id))),
        )
        .left_join(
            agents::table.on(participants::kind.eq("Agent").and(agents::id.eq(participants::participant_id))),
        )
        .filter(participants::chat_id.eq(chat.uuid()))
        .filter(participants::left_at.is_null())
        .order((participants::joined_at, participants::participant_id))
        .select((
            participants::participant_id,
            participants::kind,
            participants::role,
            participants::status,
            participants::joined_at,
            participants::account_id,
            (users::handle, users::first_name, users::last_name).nullable(),
            (agents::handle, agents::name, agents::description, agents::kind).nullable(),
        ));
    let rows: Vec<ParticipantRow> = match who {
        None => present.load(&mut db).await?,
        Some(who) => present.filter(participants::participant_id.eq(who.uuid())).load(&mut db).await?,
    };
    rows.into_iter().map(ParticipantRow::into_participant).collect()
}
