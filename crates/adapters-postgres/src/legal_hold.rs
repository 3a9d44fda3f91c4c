//! The store of legal holds, and what they forbid.
//!
//! A change that a hold may forbid first takes the lock of holds, shared with others like it, and a hold is placed with
//! that lock alone: it waits for the changes that began before, and those that begin later see it. Since nothing else is
//! locked before, nobody waits in a circle.

#[path = "../../sql-rows/legal_hold.rs"]
mod rows;

use std::collections::BTreeSet;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::id::{AccountId, ChatId, OrganizationId, SubjectId};
use domain::legal_hold::{
    HoldSubject, LegalHold, LegalHoldRepository, NotHeld, PlaceHold, PlaceHoldRefused, ReleaseHold,
};
use domain::store::StoreError;
use domain::time::Timestamp;
use futures_util::FutureExt;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::Fault;
use crate::row::At;
use crate::run::Db;
use crate::schema::{chats, legal_holds, organizations};
use crate::statement::statement;
use crate::{audit, lock};

#[async_trait]
impl LegalHoldRepository for PostgresStore {
    async fn place_hold(&self, command: PlaceHold) -> Result<Result<(), PlaceHoldRefused>, StoreError> {
        self.change(command, |db, command| place_on(db, command).boxed(), |()| ()).await
    }

    async fn release_hold(&self, command: ReleaseHold) -> Result<Result<(), NotHeld>, StoreError> {
        self.change(command, |db, command| release_on(db, *command).boxed(), |()| ()).await
    }

    async fn holds_after(
        &self,
        after: Option<(Timestamp, HoldSubject)>,
        limit: u32,
    ) -> Result<Vec<LegalHold>, StoreError> {
        self.query((after, limit), |db, &(after, limit)| after_on(db, after, limit).boxed()).await
    }
}

async fn place_on(mut db: &Db, command: &PlaceHold) -> Result<Result<(), PlaceHoldRefused>, Fault> {
    lock::holds_on(db).await?;
    let (kind, id) = command.subject.parts();
    let id = id.uuid();
    let known = match command.subject {
        HoldSubject::Chat(_) => chats::table.find(id).count().get_result::<i64>(&mut db).await?,
        HoldSubject::Organization(_) => {
            let organization = organizations::table.find(id).filter(organizations::deleted_at.is_null());
            organization.count().get_result::<i64>(&mut db).await?
        }
    };
    if known == 0 {
        return Ok(Err(PlaceHoldRefused::NotFound));
    }
    let placed = diesel::insert_into(legal_holds::table)
        .values((
            legal_holds::subject_id.eq(id),
            legal_holds::kind.eq(kind),
            legal_holds::reason.eq(command.reason.as_str()),
            legal_holds::placed_at.eq(At(command.now)),
        ))
        .on_conflict_do_nothing()
        .execute(&mut db)
        .await?;
    if placed == 0 {
        return Ok(Err(PlaceHoldRefused::IsHeld));
    }
    audit::append_on(db, [AuditEntry::hold_placed(command)]).await?;
    Ok(Ok(()))
}

async fn release_on(mut db: &Db, command: ReleaseHold) -> Result<Result<(), NotHeld>, Fault> {
    let (kind, id) = command.subject.parts();
    let held = legal_holds::table.find(id.uuid()).filter(legal_holds::kind.eq(kind));
    if diesel::delete(held).execute(&mut db).await? == 0 {
        return Ok(Err(NotHeld));
    }
    audit::append_on(db, [AuditEntry::hold_released(command)]).await?;
    Ok(Ok(()))
}

async fn after_on(
    mut db: &Db,
    after: Option<(Timestamp, HoldSubject)>,
    limit: u32,
) -> Result<Vec<LegalHold>, Fault> {
    let first = (Timestamp::from_micros(0), SubjectId::NIL);
    let (at, id) = after.map_or(first, |(at, subject)| (at, subject.parts().1));
    let holds = statement::<rows::HoldTypes>(rows::HOLDS)
        .bind::<Timestamptz, _>(At(at))
        .bind::<SqlUuid, _>(id.uuid())
        .bind::<BigInt, _>(i64::from(limit))
        .load::<rows::HoldRow>(&mut db)
        .await?;
    holds.into_iter().map(rows::hold).collect()
}

/// Returns whether the contents of a chat are to be kept. Nothing may be locked before, except by a worker that waits for
/// nobody.
pub(crate) async fn keeps_chat_on(db: &Db, chat: ChatId) -> Result<bool, Fault> {
    Ok(!kept_of_on(db, vec![chat.uuid()]).await?.is_empty())
}

/// Those of the chats of which the contents are to be kept.
pub(crate) async fn kept_of_on(mut db: &Db, chats: Vec<Uuid>) -> Result<BTreeSet<Uuid>, Fault> {
    lock::share_holds_on(db).await?;
    let held = statement::<SqlUuid>(
        "SELECT id FROM chats WHERE id = ANY(?) AND EXISTS (\
         SELECT 1 FROM legal_holds WHERE subject_id IN (chats.id, chats.organization_id))",
    );
    Ok(held.bind::<Array<SqlUuid>, _>(chats).load::<Uuid>(&mut db).await?.into_iter().collect())
}

/// Returns whether a user, with the agents of the user, or an agent is to be kept. Nothing may be locked before.
pub(crate) async fn keeps_party_on(mut db: &Db, who: AccountId) -> Result<bool, Fault> {
    lock::share_holds_on(db).await?;
    let held = statement::<BigInt>(rows::HELD_PARTY);
    let held = held.bind::<SqlUuid, _>(who.uuid()).bind::<SqlUuid, _>(who.uuid());
    Ok(held.get_result::<i64>(&mut db).await? > 0)
}

/// Returns whether an organization is to be kept. Nothing may be locked before.
pub(crate) async fn keeps_organization_on(mut db: &Db, organization: OrganizationId) -> Result<bool, Fault> {
    lock::share_holds_on(db).await?;
    let held = statement::<BigInt>(rows::HELD_ORGANIZATION);
    let held = held.bind::<SqlUuid, _>(organization.uuid()).bind::<SqlUuid, _>(organization.uuid());
    Ok(held.get_result::<i64>(&mut db).await? > 0)
}
