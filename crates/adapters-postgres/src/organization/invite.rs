//! Making, listing, and revoking invitations.

use diesel::dsl::count_star;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::audit::AuditEntry;
use domain::id::{InvitationId, OrganizationId, UserId};
use domain::organization::{
    Authority, Invitation, InviteRefused, MAX_INVITATIONS, NewInvitation, NotAdmin, RevokeInvitation,
    RevokeInvitationRefused,
};
use domain::page::{Page, PageRequest, Position};
use domain::time::Timestamp;
use futures_util::future::try_join;
use uuid::Uuid;

use super::invitation::InvitationRow;
use super::member::check_on;
use crate::audit;
use crate::error::Fault;
use crate::lock;
use crate::row::At;
use crate::run::Db;
use crate::schema::invitations;

type Invitations = invitations::BoxedQuery<'static, Pg>;

fn of(organization: OrganizationId) -> Invitations {
    invitations::table.filter(invitations::organization_id.eq(organization.uuid())).into_boxed()
}

/// Those that were neither accepted nor revoked.
fn open(organization: OrganizationId) -> Invitations {
    of(organization).filter(invitations::accepted_at.is_null()).filter(invitations::revoked_at.is_null())
}

async fn invitation_on(mut db: &Db, id: InvitationId) -> Result<Invitation, Fault> {
    let stored = invitations::table.find(id.uuid()).select(InvitationRow::as_select());
    stored.first(&mut db).await?.into_invitation()
}

pub(super) async fn invite_on(
    mut db: &Db,
    new: &NewInvitation,
) -> Result<Result<Invitation, InviteRefused>, Fault> {
    let organization = new.by.organization();
    lock::people_on(db, organization).await?;
    if check_on(db, new.by).await? == Err(NotAdmin) {
        return Ok(Err(InviteRefused::NotAdmin));
    }
    let waiting = open(organization).filter(invitations::expires_at.gt(At(new.now)));
    if waiting.select(count_star()).first::<i64>(&mut db).await? >= i64::from(MAX_INVITATIONS) {
        return Ok(Err(InviteRefused::TooMany));
    }
    diesel::insert_into(invitations::table)
        .values((
            invitations::id.eq(new.id.uuid()),
            invitations::organization_id.eq(organization.uuid()),
            invitations::role.eq(new.role.as_str()),
            invitations::email.eq(&new.email),
            invitations::digest.eq(new.digest.bytes().as_slice()),
            invitations::created_by.eq(new.by.user().map(UserId::uuid)),
            invitations::created_at.eq(At(new.now)),
            invitations::expires_at.eq(At(new.expires_at)),
        ))
        .execute(&mut db)
        .await?;
    audit::append_on(db, [AuditEntry::invitation_created(new)]).await?;
    invitation_on(db, new.id).await.map(Ok)
}

pub(super) async fn list_on(
    db: &Db,
    by: Authority,
    page: &PageRequest,
) -> Result<Result<Page<Invitation>, NotAdmin>, Fault> {
    if let Err(refused) = check_on(db, by).await? {
        return Ok(Err(refused));
    }
    let organization = by.organization();
    let total = async { Ok(if page.count { Some(count_on(db, organization).await?) } else { None }) };
    let (total, rows) = try_join(total, page_on(db, organization, page)).await?;
    let rows = rows.into_iter().map(InvitationRow::into_invitation).collect::<Result<Vec<_>, _>>()?;
    let position = |one: &Invitation| Position::at(one.created_at.micros(), one.id);
    Ok(Ok(Page::from_overfetch(rows, page, total, position)))
}

async fn count_on(mut db: &Db, organization: OrganizationId) -> Result<u64, Fault> {
    Ok(of(organization).select(count_star()).first::<i64>(&mut db).await?.cast_unsigned())
}

async fn page_on(
    mut db: &Db,
    organization: OrganizationId,
    page: &PageRequest,
) -> Result<Vec<InvitationRow>, Fault> {
    let mut rows = of(organization);
    if let Some(Position { key, id, .. }) = page.slice.after() {
        let key = At(Timestamp::from_micros(key));
        // The first condition is redundant; it lets the index scan start at the right row.
        let older = invitations::created_at.lt(key);
        let as_old = invitations::created_at.eq(key).and(invitations::id.lt(id.uuid()));
        rows = rows.filter(invitations::created_at.le(key)).filter(older.or(as_old));
    }
    let rows = rows
        .order((invitations::created_at.desc(), invitations::id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(InvitationRow::as_select());
    Ok(rows.load(&mut db).await?)
}

pub(super) async fn revoke_on(
    mut db: &Db,
    command: &RevokeInvitation,
) -> Result<Result<Invitation, RevokeInvitationRefused>, Fault> {
    let organization = command.by.organization();
    lock::people_on(db, organization).await?;
    if check_on(db, command.by).await? == Err(NotAdmin) {
        return Ok(Err(RevokeInvitationRefused::NotAdmin));
    }
    let id = command.id.uuid();
    let meant = open(organization).filter(invitations::id.eq(id)).select(invitations::id);
    if meant.first::<Uuid>(&mut db).await.optional()?.is_none() {
        return Ok(Err(RevokeInvitationRefused::NotFound));
    }
    diesel::update(invitations::table.find(id))
        .set(invitations::revoked_at.eq(At(command.now)))
        .execute(&mut db)
        .await?;
    audit::append_on(db, [AuditEntry::invitation_revoked(command)]).await?;
    invitation_on(db, command.id).await.map(Ok)
}
