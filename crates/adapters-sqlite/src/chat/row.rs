//! Chats and memberships as rows.

use diesel::prelude::*;
use diesel::sql_types::{Binary, Text};
use domain::chat::{Chat, ChatKind, ChatStatus, Membership, Participant, ParticipantStatus, Role, Standing};
use domain::id::{ChatId, ParticipantId, ParticipantKind, TaskId};

use crate::error::Fault;
use crate::row;
use crate::schema::{agents, chats, participants, users};
use crate::statement::statement;

#[derive(Queryable, Selectable)]
#[diesel(table_name = chats)]
pub(crate) struct ChatRow {
    id: Vec<u8>,
    title: Option<String>,
    task_id: Option<Vec<u8>>,
    kind: String,
    status: String,
    created_at: i64,
    updated_at: i64,
    last_message_at: Option<i64>,
}

impl ChatRow {
    pub(crate) fn into_chat(self) -> Result<Chat, Fault> {
        Ok(Chat {
            id: row::chat_id(&self.id)?,
            title: self.title,
            task_id: self.task_id.as_deref().map(row::uuid).transpose()?.map(TaskId::new),
            kind: row::word(&self.kind, ChatKind::parse)?,
            status: row::word(&self.status, ChatStatus::parse)?,
            created_at: row::time(self.created_at),
            updated_at: row::time(self.updated_at),
            last_message_at: self.last_message_at.map(row::time),
        })
    }
}

/// A chat that is not deleted.
pub(crate) fn chat_on(connection: &mut SqliteConnection, chat: ChatId) -> Result<Option<Chat>, Fault> {
    let found = chats::table
        .find(row::bytes(chat.uuid()))
        .filter(chats::deleted_at.is_null())
        .select(ChatRow::as_select())
        .get_result(connection)
        .optional()?;
    found.map(ChatRow::into_chat).transpose()
}

/// Role and status of a participant of a chat that is not deleted.
pub(crate) fn membership_on(
    connection: &mut SqliteConnection,
    who: ParticipantId,
    chat: ChatId,
) -> Result<Option<(Role, ParticipantStatus)>, Fault> {
    let found = participants::table
        .inner_join(chats::table)
        .filter(participants::chat_id.eq(row::bytes(chat.uuid())))
        .filter(participants::participant_id.eq(row::bytes(who.uuid())))
        .filter(participants::left_at.is_null())
        .filter(chats::deleted_at.is_null())
        .select((participants::role, participants::status))
        .get_result::<(String, String)>(connection)
        .optional()?;
    let Some((role, status)) = found else { return Ok(None) };
    Ok(Some((row::word(&role, Role::parse)?, row::word(&status, ParticipantStatus::parse)?)))
}

/// The standing of a viewer in a chat that is not deleted.
pub(crate) fn standing_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
) -> Result<Standing, Fault> {
    let ParticipantId::User(user) = viewer else {
        let own = membership_on(connection, viewer, chat)?;
        let own = own.map(|(role, status)| Membership { role, status });
        return Ok(Standing { own, agents: Vec::new() });
    };
    // The index is named because SQLite would read all participants of the chat.
    let rows = statement!(
        "SELECT participants.chat_id, participant_id, participants.kind, role, participants.status \
         FROM chats CROSS JOIN participants INDEXED BY participants_of_account \
         ON participants.chat_id = chats.id AND participants.left_at IS NULL \
         WHERE chats.id = ? AND participants.account_id = ? AND chats.deleted_at IS NULL \
         ORDER BY participant_id"
        => (Binary, Binary, Text, Text, Text)
    );
    let rows = rows
        .bind::<Binary, _>(row::bytes(chat.uuid()))
        .bind::<Binary, _>(row::bytes(user.uuid()))
        .load::<StandingRow>(connection)?;
    let mut standing = Standing::default();
    rows.into_iter().try_for_each(|row| row.add_to(&mut standing))?;
    Ok(standing)
}

/// A membership of a user or of an own agent.
#[derive(Queryable, QueryableByName)]
pub(crate) struct StandingRow {
    #[diesel(sql_type = Binary)]
    pub(crate) chat_id: Vec<u8>,
    #[diesel(sql_type = Binary)]
    participant_id: Vec<u8>,
    #[diesel(sql_type = Text)]
    kind: String,
    #[diesel(sql_type = Text)]
    role: String,
    #[diesel(sql_type = Text)]
    status: String,
}

impl StandingRow {
    pub(crate) fn add_to(self, standing: &mut Standing) -> Result<(), Fault> {
        let role = row::word(&self.role, Role::parse)?;
        match row::participant_id(&self.kind, &self.participant_id)? {
            ParticipantId::User(_) => {
                let status = row::word(&self.status, ParticipantStatus::parse)?;
                standing.own = Some(Membership { role, status });
            }
            ParticipantId::Agent(agent) => standing.agents.push((agent, role)),
        }
        Ok(())
    }
}

/// The accountable user of a participant, as stored in the column `account_id`.
pub(crate) fn account_on(connection: &mut SqliteConnection, who: ParticipantId) -> Result<Vec<u8>, Fault> {
    let id = row::bytes(who.uuid());
    match who {
        ParticipantId::User(_) => Ok(id),
        ParticipantId::Agent(_) => {
            Ok(agents::table.find(id).select(agents::owner_id).get_result(connection)?)
        }
    }
}

#[derive(Queryable)]
pub(crate) struct ParticipantRow {
    pub(crate) participant_id: Vec<u8>,
    pub(crate) kind: String,
    pub(crate) role: String,
    pub(crate) status: String,
    pub(crate) joined_at: i64,
    pub(crate) account_id: Vec<u8>,
    /// Handle, first name, last name.
    pub(crate) user: Option<(String, String, String)>,
    /// Handle, name, description, kind.
    pub(crate) agent: Option<(String, String, String, String)>,
}

impl ParticipantRow {
    pub(crate) fn into_participant(self) -> Result<Participant, Fault> {
        let id = row::participant_id(&self.kind, &self.participant_id)?;
        let (name, handle, description, is_external) = match (id.kind(), self.user, self.agent) {
            (ParticipantKind::User, Some((handle, first, last)), _) => {
                (domain::account::PersonName { first, last }.full(), handle, None, None)
            }
            (ParticipantKind::Agent, _, Some((handle, name, description, kind))) => {
                (name, handle, Some(description), Some(kind == "external"))
            }
            _ => return Err(Fault::Row(format!("the participant {id} without an account"))),
        };
        let owner = match id {
            ParticipantId::User(_) => None,
            ParticipantId::Agent(_) => Some(row::user_id(&self.account_id)?),
        };
        Ok(Participant {
            id,
            name,
            handle,
            description,
            is_external,
            owner,
            role: row::word(&self.role, Role::parse)?,
            status: row::word(&self.status, ParticipantStatus::parse)?,
            joined_at: row::time(self.joined_at),
        })
    }
}

/// All participants of a chat, or only `who`; oldest first.
pub(crate) fn participants_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    who: Option<uuid::Uuid>,
) -> Result<Vec<Participant>, Fault> {
    let present = || {
        participants::table
            .left_join(
                users::table
                    .on(participants::kind.eq("User").and(users::id.eq(participants::participant_id))),
            )
            .left_join(
                agents::table
                    .on(participants::kind.eq("Agent").and(agents::id.eq(participants::participant_id))),
            )
            .filter(participants::chat_id.eq(row::bytes(chat.uuid())))
            .filter(participants::left_at.is_null())
            .select((
                participants::participant_id,
                participants::kind,
                participants::role,
                participants::status,
                participants::joined_at,
                participants::account_id,
                (users::handle, users::first_name, users::last_name).nullable(),
                (agents::handle, agents::name, agents::description, agents::kind).nullable(),
            ))
            .order((participants::joined_at, participants::participant_id))
    };
    let rows = match who {
        None => present().load::<ParticipantRow>(connection)?,
        Some(who) => present().filter(participants::participant_id.eq(row::bytes(who))).load(connection)?,
    };
    rows.into_iter().map(ParticipantRow::into_participant).collect()
}
