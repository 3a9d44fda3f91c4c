//! Storing somebody who is added.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::chat::membership::{Candidate, decide_add};
use domain::chat::{AddParticipant, AddRefused, AddedParticipant, ParticipantStatus};
use domain::id::{AgentId, ParticipantId, UserId};

use super::row::{chat_on, membership_on, participants_on};
use crate::error::Fault;
use crate::row;
use crate::schema::{agents, chats, participants, users};

pub(super) fn add_participant_on(
    connection: &mut SqliteConnection,
    command: &AddParticipant,
) -> Result<Result<AddedParticipant, AddRefused>, Fault> {
    let caller_role =
        membership_on(connection, command.by.participant(), command.chat)?.map(|(role, _)| role);
    let candidate = candidate_on(connection, command)?;
    if let Err(refused) = decide_add(command.by, caller_role, candidate.as_ref(), command.role) {
        return Ok(Err(refused));
    }
    let (Some(candidate), Some(chat)) = (candidate, chat_on(connection, command.chat)?) else {
        return Ok(Err(AddRefused::ChatNotFound));
    };
    let now = command.now.micros();
    let membership = (
        participants::role.eq(command.role.as_str()),
        participants::status.eq(ParticipantStatus::on_adding(candidate.id).as_str()),
        participants::joined_at.eq(now),
    );
    diesel::insert_into(participants::table)
        .values((
            participants::chat_id.eq(row::bytes(chat.id.uuid())),
            participants::participant_id.eq(row::bytes(candidate.id.uuid())),
            participants::kind.eq(candidate.id.kind().as_str()),
            participants::chat_created_at.eq(chat.created_at.micros()),
            membership,
        ))
        .on_conflict((participants::chat_id, participants::participant_id))
        .do_update()
        .set((membership, participants::left_at.eq(None::<i64>)))
        .execute(connection)?;
    diesel::update(chats::table.find(row::bytes(chat.id.uuid())))
        .set(chats::updated_at.eq(now))
        .execute(connection)?;

    let added = participants_on(connection, chat.id, Some(candidate.id.uuid()))?.pop();
    let participant = added.ok_or_else(|| Fault::Row("an added participant that is not there".to_owned()))?;
    let chat = domain::chat::Chat { updated_at: command.now, ..chat };
    Ok(Ok(AddedParticipant { chat, participant }))
}

/// The user or agent with the wished id.
fn candidate_on(
    connection: &mut SqliteConnection,
    command: &AddParticipant,
) -> Result<Option<Candidate>, Fault> {
    let column = row::bytes(command.candidate);
    let owner = agents::table
        .find(&column)
        .filter(agents::deleted_at.is_null())
        .select(agents::owner_id)
        .first::<Vec<u8>>(connection)
        .optional()?;
    let (id, owner) = if let Some(owner) = owner {
        (ParticipantId::Agent(AgentId::new(command.candidate)), Some(row::user_id(&owner)?))
    } else {
        let user = users::table.find(&column).select(users::id).first::<Vec<u8>>(connection).optional()?;
        if user.is_none() {
            return Ok(None);
        }
        (ParticipantId::User(UserId::new(command.candidate)), None)
    };
    let is_participant = membership_on(connection, id, command.chat)?.is_some();
    Ok(Some(Candidate { id, owner, is_participant }))
}
