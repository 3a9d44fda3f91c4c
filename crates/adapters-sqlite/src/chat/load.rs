//! Reads chats, memberships, and participants.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use domain::chat::{Chat, Membership, OwnMembership, Participant, Standing};
use domain::id::{AccountId, ChatId, ParticipantId};

use super::row::{ChatRow, OwnMembershipRow, ParticipantRow, StandingRow};
use crate::error::Fault;
use crate::row::{self, Id};
use crate::schema::{agents, chats, participants, users};
use crate::statement::statement;

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

/// The membership of a participant of a chat that is not deleted.
pub(crate) fn membership_on(
    connection: &mut SqliteConnection,
    who: ParticipantId,
    chat: ChatId,
) -> Result<Option<OwnMembership>, Fault> {
    let found = statement!(
        "SELECT participants.kind, role, participants.status, stopped_at, agent_paused_at, joined_at, paused_at \
         FROM participants JOIN chats ON chats.id = participants.chat_id AND chats.deleted_at IS NULL \
         LEFT JOIN organizations ON organizations.id = chats.organization_id \
         WHERE participants.chat_id = ? AND participant_id = ? AND left_at IS NULL"
        => (Text, Text, Text, Nullable<BigInt>, Nullable<BigInt>, BigInt, Nullable<BigInt>)
    );
    let found = found
        .bind::<Binary, _>(Id(chat.uuid()))
        .bind::<Binary, _>(Id(who.uuid()))
        .get_result::<OwnMembershipRow>(connection)
        .optional()?;
    found.map(OwnMembershipRow::into_membership).transpose()
}

/// The standing of a viewer in a chat that is not deleted.
pub(crate) fn standing_on(
    connection: &mut SqliteConnection,
    viewer: ParticipantId,
    chat: ChatId,
) -> Result<Standing, Fault> {
    let ParticipantId::User(user) = viewer else {
        let own = membership_on(connection, viewer, chat)?;
        let own = own.map(|own| Membership { role: own.role, status: own.state.status });
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
    rows.into_iter().try_for_each(|row| row.add_to(viewer, &mut standing))?;
    Ok(standing)
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

/// When an agent's pause began, as stored with each of its memberships; `None` if it is not paused.
pub(crate) fn pause_on(connection: &mut SqliteConnection, who: ParticipantId) -> Result<Option<i64>, Fault> {
    match who {
        ParticipantId::User(_) => Ok(None),
        ParticipantId::Agent(agent) => {
            let agent = agents::table.find(row::bytes(agent.uuid()));
            Ok(agent.select(agents::paused_at).get_result(connection)?)
        }
    }
}

/// All participants of a chat, or only `who`; oldest first.
pub(crate) fn participants_on(
    connection: &mut SqliteConnection,
    chat: ChatId,
    who: Option<AccountId>,
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
        Some(who) => {
            present().filter(participants::participant_id.eq(row::bytes(who.uuid()))).load(connection)?
        }
    };
    rows.into_iter().map(ParticipantRow::into_participant).collect()
}
