//! Storing a memory.

use diesel::dsl::{exists, select};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::id::{AccountId, ParticipantId};
use domain::memory::{Memory, MemoryStatus, NewMemory, StoreRefused, fold};

use super::read::memory_on;
use crate::account::find::is_gone_on;
use crate::error::Fault;
use crate::peer::ties_on;
use crate::plan::quota;
use crate::row;
use crate::schema::{memories, participants};

pub(super) fn store_on(
    connection: &mut SqliteConnection,
    new: &NewMemory,
) -> Result<Result<Memory, StoreRefused>, Fault> {
    if is_gone_on(connection, ParticipantId::Agent(new.source.agent))? {
        return Ok(Err(StoreRefused::SourceGone));
    }
    let subject = match new.subject {
        None => None,
        Some(id) => match subject_on(connection, new, id)? {
            Some(subject) => Some(subject),
            None => return Ok(Err(StoreRefused::SubjectNotFound)),
        },
    };
    if let Err(reached) = quota::bytes_on(connection, new.source.organization)? {
        return Ok(Err(StoreRefused::Limit(reached)));
    }
    diesel::insert_into(memories::table)
        .values((
            memories::id.eq(row::bytes(new.id.uuid())),
            memories::organization_id.eq(row::bytes(new.source.organization.uuid())),
            memories::source_id.eq(row::bytes(new.source.agent.uuid())),
            memories::subject_id.eq(subject.map(|subject| row::bytes(subject.uuid()))),
            memories::subject_kind.eq(subject.map(|subject| subject.kind().as_str())),
            memories::system.eq(new.system.as_str()),
            memories::kind.eq(new.kind.as_str()),
            memories::segment.eq(new.segment_about(subject).as_str()),
            memories::scope.eq(new.scope.as_str()),
            memories::status.eq(MemoryStatus::Active.as_str()),
            memories::content.eq(&new.content),
            memories::folded.eq(fold(&new.content)),
            memories::thought.eq(&new.thought),
            memories::metadata.eq(row::to_json(&new.metadata)?),
            memories::created_at.eq(new.now.micros()),
            memories::updated_at.eq(new.now.micros()),
        ))
        .execute(connection)?;
    let stored = memory_on(connection, new.id)?;
    stored.map(Ok).ok_or_else(|| Fault::Row("a stored memory that is not there".to_owned()))
}

/// The subject of the memory, if the agent can know it: itself, a peer, or a participant of one of
/// its chats.
fn subject_on(
    connection: &mut SqliteConnection,
    new: &NewMemory,
    id: AccountId,
) -> Result<Option<ParticipantId>, Fault> {
    let caller = new.source.into();
    let Some((who, ties)) = ties_on(connection, caller, id)? else { return Ok(None) };
    if who == ParticipantId::Agent(new.source.agent) || ties.source(caller, who).is_some() {
        return Ok(Some(who));
    }
    let others = diesel::alias!(participants as others);
    let together = participants::table
        .inner_join(others.on(others.field(participants::chat_id).eq(participants::chat_id)))
        .filter(participants::participant_id.eq(row::bytes(new.source.agent.uuid())))
        .filter(participants::left_at.is_null())
        .filter(others.field(participants::participant_id).eq(row::bytes(id.uuid())))
        .filter(others.field(participants::left_at).is_null());
    Ok(select(exists(together)).get_result::<bool>(connection)?.then_some(who))
}
