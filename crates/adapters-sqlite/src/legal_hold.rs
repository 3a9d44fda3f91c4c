//! The store of legal holds, and what they forbid.

#[path = "../../sql-rows/legal_hold.rs"]
mod rows;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary};
use diesel::sqlite::SqliteConnection;
use domain::audit::AuditEntry;
use domain::id::{AccountId, ChatId, OrganizationId, SubjectId};
use domain::legal_hold::{
    HoldSubject, LegalHold, LegalHoldRepository, NotHeld, PlaceHold, PlaceHoldRefused, ReleaseHold,
};
use domain::store::StoreError;
use domain::time::Timestamp;

use crate::SqliteStore;
use crate::audit;
use crate::error::Fault;
use crate::row::{At, Id};
use crate::schema::{chats, legal_holds, organizations};
use crate::statement::statement;

#[async_trait]
impl LegalHoldRepository for SqliteStore {
    async fn place_hold(&self, command: PlaceHold) -> Result<Result<(), PlaceHoldRefused>, StoreError> {
        self.change(move |connection| place_on(connection, &command), |()| ()).await
    }

    async fn release_hold(&self, command: ReleaseHold) -> Result<Result<(), NotHeld>, StoreError> {
        self.change(move |connection| release_on(connection, command), |()| ()).await
    }

    async fn holds_after(
        &self,
        after: Option<(Timestamp, HoldSubject)>,
        limit: u32,
    ) -> Result<Vec<LegalHold>, StoreError> {
        self.read(move |connection| after_on(connection, after, limit)).await
    }
}

fn place_on(
    connection: &mut SqliteConnection,
    command: &PlaceHold,
) -> Result<Result<(), PlaceHoldRefused>, Fault> {
    let (kind, id) = command.subject.parts();
    let id = Id(id.uuid());
    let known = match command.subject {
        HoldSubject::Chat(_) => chats::table.find(id).count().get_result::<i64>(connection)?,
        HoldSubject::Organization(_) => {
            let organization = organizations::table.find(id).filter(organizations::deleted_at.is_null());
            organization.count().get_result::<i64>(connection)?
        }
    };
    if known == 0 {
        return Ok(Err(PlaceHoldRefused::NotFound));
    }
    let placed = diesel::insert_or_ignore_into(legal_holds::table).values((
        legal_holds::subject_id.eq(id),
        legal_holds::kind.eq(kind),
        legal_holds::reason.eq(command.reason.as_str()),
        legal_holds::placed_at.eq(At(command.now)),
    ));
    if placed.execute(connection)? == 0 {
        return Ok(Err(PlaceHoldRefused::IsHeld));
    }
    audit::append_on(connection, [AuditEntry::hold_placed(command)])?;
    Ok(Ok(()))
}

fn release_on(connection: &mut SqliteConnection, command: ReleaseHold) -> Result<Result<(), NotHeld>, Fault> {
    let (kind, id) = command.subject.parts();
    let held = legal_holds::table.find(Id(id.uuid())).filter(legal_holds::kind.eq(kind));
    if diesel::delete(held).execute(connection)? == 0 {
        return Ok(Err(NotHeld));
    }
    audit::append_on(connection, [AuditEntry::hold_released(command)])?;
    Ok(Ok(()))
}

fn after_on(
    connection: &mut SqliteConnection,
    after: Option<(Timestamp, HoldSubject)>,
    limit: u32,
) -> Result<Vec<LegalHold>, Fault> {
    let (at, id) = after
        .map_or((Timestamp::from_micros(i64::MIN), SubjectId::NIL), |(at, subject)| (at, subject.parts().1));
    let holds = statement!(rows::HOLDS => rows::HoldTypes)
        .bind::<BigInt, _>(At(at))
        .bind::<Binary, _>(Id(id.uuid()))
        .bind::<BigInt, _>(i64::from(limit))
        .load::<rows::HoldRow>(connection)?;
    holds.into_iter().map(rows::hold).collect()
}

/// Returns whether the contents of a chat are to be kept.
pub(crate) fn keeps_chat_on(connection: &mut SqliteConnection, chat: ChatId) -> Result<bool, Fault> {
    let held = statement!(
        "SELECT count(*) FROM chats WHERE id = ? AND EXISTS (\
         SELECT 1 FROM legal_holds WHERE subject_id = chats.id OR subject_id = chats.organization_id)" => BigInt
    );
    let held = held.bind::<Binary, _>(Id(chat.uuid()));
    Ok(held.get_result::<i64>(connection)? > 0)
}

/// Returns whether a user, with the agents of the user, or an agent is to be kept.
pub(crate) fn keeps_party_on(connection: &mut SqliteConnection, who: AccountId) -> Result<bool, Fault> {
    let id = Id(who.uuid());
    let held = statement!(rows::HELD_PARTY => BigInt).bind::<Binary, _>(id).bind::<Binary, _>(id);
    Ok(held.get_result::<i64>(connection)? > 0)
}

/// Returns whether an organization is to be kept.
pub(crate) fn keeps_organization_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
) -> Result<bool, Fault> {
    let id = Id(organization.uuid());
    let held = statement!(rows::HELD_ORGANIZATION => BigInt).bind::<Binary, _>(id).bind::<Binary, _>(id);
    Ok(held.get_result::<i64>(connection)? > 0)
}
