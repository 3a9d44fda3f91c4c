//! Storing a memory.

use diesel::prelude::*;
use diesel::sql_types::{Bool, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::id::{AccountId, ParticipantId};
use domain::memory::{Memory, MemoryStatus, NewMemory, StoreRefused, fold};
use futures_util::future::try_join;

use super::read::memory_on;
use crate::account::find::is_gone_on;
use crate::error::Fault;
use crate::lock;
use crate::peer::ties_on;
use crate::plan::quota;
use crate::row::{self, At};
use crate::run::Db;
use crate::schema::memories;
use crate::statement::statement;

pub(super) async fn store_on(mut db: &Db, new: &NewMemory) -> Result<Result<Memory, StoreRefused>, Fault> {
    // Otherwise the foreign key to the organization would wait for it while the agent is locked.
    let stays = lock::pin_organization_on(db, new.source.organization);
    try_join(stays, lock::pin_agent_on(db, new.source.agent)).await?;
    if is_gone_on(db, ParticipantId::Agent(new.source.agent)).await? {
        return Ok(Err(StoreRefused::SourceGone));
    }
    let subject = match new.subject {
        None => None,
        Some(id) => match subject_on(db, new, id).await? {
            Some(subject) => Some(subject),
            None => return Ok(Err(StoreRefused::SubjectNotFound)),
        },
    };
    if let Err(reached) = quota::bytes_on(db, new.source.organization).await? {
        return Ok(Err(StoreRefused::Limit(reached)));
    }
    diesel::insert_into(memories::table)
        .values((
            memories::id.eq(new.id.uuid()),
            memories::organization_id.eq(new.source.organization.uuid()),
            memories::source_id.eq(new.source.agent.uuid()),
            memories::subject_id.eq(subject.map(ParticipantId::uuid)),
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
            memories::created_at.eq(At(new.now)),
            memories::updated_at.eq(At(new.now)),
        ))
        .execute(&mut db)
        .await?;
    let stored = memory_on(db, new.id).await?;
    stored.map(Ok).ok_or_else(|| Fault::Row("a stored memory that is not there".to_owned()))
}

/// The condition that two users or agents are in a chat together.
const TOGETHER: &str = "SELECT EXISTS (SELECT 1 FROM participants AS mine \
     JOIN participants AS theirs ON theirs.chat_id = mine.chat_id \
     WHERE mine.participant_id = ? AND mine.left_at IS NULL \
     AND theirs.participant_id = ? AND theirs.left_at IS NULL)";

/// The subject of the memory, if the agent can know it: itself, a peer, or a participant of one of
/// its chats.
async fn subject_on(mut db: &Db, new: &NewMemory, id: AccountId) -> Result<Option<ParticipantId>, Fault> {
    let caller = new.source.into();
    let Some((who, ties)) = ties_on(db, caller, id).await? else { return Ok(None) };
    if who == ParticipantId::Agent(new.source.agent) || ties.source(caller, who).is_some() {
        return Ok(Some(who));
    }
    let together = statement::<Bool>(TOGETHER)
        .bind::<SqlUuid, _>(new.source.agent.uuid())
        .bind::<SqlUuid, _>(id.uuid())
        .get_result::<bool>(&mut db)
        .await?;
    Ok(together.then_some(who))
}
