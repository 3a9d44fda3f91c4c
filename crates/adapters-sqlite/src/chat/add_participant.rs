//! Storing an added participant.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::chat::membership::{Candidate, decide_add};
use domain::chat::{AddParticipant, AddRefused, AddedParticipant, ParticipantStatus};
use domain::id::ParticipantId;

use super::load::{account_on, chat_on, membership_on, participants_on, pause_on};
use crate::audit;
use crate::error::Fault;
use crate::message::title;
use crate::peer::ties_on;
use crate::plan::quota;
use crate::row;
use crate::schema::{chats, participants};

pub(super) fn add_participant_on(
    connection: &mut SqliteConnection,
    command: &AddParticipant,
) -> Result<Result<AddedParticipant, AddRefused>, Fault> {
    let caller_role = membership_on(connection, command.by.participant(), command.chat)?.map(|own| own.role);
    let candidate = candidate_on(connection, command)?;
    let candidate = match decide_add(command.by, caller_role, candidate, command.role) {
        Ok(candidate) => candidate,
        Err(refused) => return Ok(Err(refused)),
    };
    let Some(chat) = chat_on(connection, command.chat)? else { return Ok(Err(AddRefused::ChatNotFound)) };
    if let Err(reached) = quota::participants_on(connection, chat.id)? {
        return Ok(Err(AddRefused::Limit(reached)));
    }
    let now = command.now.micros();
    // What was sent before counts as read.
    let (read_sequence, read_texts) = chats::table
        .find(row::bytes(chat.id.uuid()))
        .select((chats::last_sequence, chats::texts))
        .get_result::<(i64, i64)>(connection)?;
    let membership = (
        participants::role.eq(command.role.as_str()),
        participants::status.eq(ParticipantStatus::on_adding(candidate.id).as_str()),
        participants::joined_at.eq(now),
        participants::stopped_at.eq(None::<i64>),
        participants::agent_paused_at.eq(pause_on(connection, candidate.id)?),
        participants::read_sequence.eq(read_sequence),
        participants::read_texts.eq(read_texts),
        participants::muted.eq(false),
    );
    diesel::insert_into(participants::table)
        .values((
            participants::chat_id.eq(row::bytes(chat.id.uuid())),
            participants::participant_id.eq(row::bytes(candidate.id.uuid())),
            participants::kind.eq(candidate.id.kind().as_str()),
            participants::chat_created_at.eq(chat.created_at.micros()),
            participants::account_id.eq(account_on(connection, candidate.id)?),
            membership,
        ))
        .on_conflict((participants::chat_id, participants::participant_id))
        .do_update()
        .set((membership, participants::left_at.eq(None::<i64>)))
        .execute(connection)?;
    diesel::update(chats::table.find(row::bytes(chat.id.uuid())))
        .set(chats::updated_at.eq(now))
        .execute(connection)?;
    audit::append_on(connection, [AuditEntry::participant_added(command, candidate.id)])?;

    let added = participants_on(connection, chat.id, Some(candidate.id.into()))?.pop();
    let participant = added.ok_or_else(|| Fault::Row("an added participant that is not there".to_owned()))?;
    let retitled = match candidate.id {
        ParticipantId::Agent(agent) => title::hide_from_on(connection, chat.id, agent)?,
        ParticipantId::User(_) => None,
    };
    let title = if retitled.is_some() { None } else { chat.title };
    let chat = domain::chat::Chat { updated_at: command.now, title, ..chat };
    Ok(Ok(AddedParticipant { chat, participant, retitled }))
}

/// The user or agent with the requested id.
fn candidate_on(
    connection: &mut SqliteConnection,
    command: &AddParticipant,
) -> Result<Option<Candidate>, Fault> {
    let Some((id, ties)) = ties_on(connection, command.by, command.candidate)? else { return Ok(None) };
    let is_participant = membership_on(connection, id, command.chat)?.is_some();
    Ok(Some(Candidate { id, ties, is_participant }))
}
