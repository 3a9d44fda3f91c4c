//! Storing a chat with its creator.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::chat::{Chat, CreateRefused, NewChat, ParticipantStatus, Role};
use domain::id::OrganizationId;
use domain::idempotency::Verdict;

use super::load::{account_on, pause_on};
use crate::account::find::is_gone_on;
use crate::audit;
use crate::error::Fault;
use crate::idempotency_record;
use crate::plan::quota;
use crate::row;
use crate::schema::{chats, participants, users};

pub(super) fn create_on(
    connection: &mut SqliteConnection,
    new: NewChat,
) -> Result<Result<Chat, CreateRefused>, Fault> {
    if is_gone_on(connection, new.creator)? {
        return Ok(Err(CreateRefused::CreatorGone));
    }
    if let Some(keyed) = &new.keyed {
        match idempotency_record::judge_on(connection, keyed)? {
            Verdict::First => idempotency_record::remember_on(connection, keyed, new.id.into(), new.now)?,
            Verdict::Repeated(first) => return Ok(Err(CreateRefused::Repeated(first))),
            Verdict::KeyReused => return Ok(Err(CreateRefused::KeyReused)),
        }
    }
    let creator = new.creator;
    let account = account_on(connection, new.creator)?;
    let column = organization_on(connection, &account)?;
    let organization = OrganizationId::new(row::uuid(&column)?);
    if let Err(reached) = quota::chats_on(connection, organization)? {
        return Ok(Err(CreateRefused::Limit(reached)));
    }
    let pause = pause_on(connection, creator)?;
    let chat = new.into_chat();
    let now = chat.created_at.micros();
    diesel::insert_into(chats::table)
        .values((
            chats::id.eq(row::bytes(chat.id.uuid())),
            chats::title.eq(&chat.title),
            chats::task_id.eq(chat.task_id.map(|task| row::bytes(task.uuid()))),
            chats::kind.eq(chat.kind.as_str()),
            chats::status.eq(chat.status.as_str()),
            chats::organization_id.eq(&column),
            chats::last_sequence.eq(0),
            chats::created_at.eq(now),
            chats::updated_at.eq(now),
        ))
        .execute(connection)?;
    diesel::insert_into(participants::table)
        .values((
            participants::chat_id.eq(row::bytes(chat.id.uuid())),
            participants::participant_id.eq(row::bytes(creator.uuid())),
            participants::kind.eq(creator.kind().as_str()),
            participants::role.eq(Role::Owner.as_str()),
            participants::status.eq(ParticipantStatus::Active.as_str()),
            participants::chat_created_at.eq(now),
            participants::joined_at.eq(now),
            participants::account_id.eq(account),
            participants::agent_paused_at.eq(pause),
        ))
        .execute(connection)?;
    audit::append_on(connection, [AuditEntry::chat_created(&chat, creator, organization)])?;
    Ok(Ok(chat))
}

/// The organization that the chat will belong to: that of the creator's accountable user.
fn organization_on(connection: &mut SqliteConnection, account: &[u8]) -> Result<Vec<u8>, Fault> {
    Ok(users::table.find(account).select(users::organization_id).get_result(connection)?)
}
