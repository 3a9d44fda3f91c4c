//! Making, listing, and revoking invitations.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::sqlite::{Sqlite, SqliteConnection};
use domain::audit::AuditEntry;
use domain::id::{InvitationId, OrganizationId, UserId};
use domain::organization::{
    Authority, Invitation, InviteRefused, MAX_INVITATIONS, NewInvitation, NotAdmin, RevokeInvitation,
    RevokeInvitationRefused,
};
use domain::page::{Page, PageRequest, Position};

use super::invitation::InvitationRow;
use super::member::check_on;
use crate::audit;
use crate::error::Fault;
use crate::row;
use crate::schema::invitations;

type Invitations = invitations::BoxedQuery<'static, Sqlite>;

fn of(organization: OrganizationId) -> Invitations {
    let organization = row::bytes(organization.uuid());
    invitations::table.filter(invitations::organization_id.eq(organization)).into_boxed()
}

/// Those that were neither accepted nor revoked.
fn open(organization: OrganizationId) -> Invitations {
    of(organization).filter(invitations::accepted_at.is_null()).filter(invitations::revoked_at.is_null())
}

fn invitation_on(connection: &mut SqliteConnection, id: InvitationId) -> Result<Invitation, Fault> {
    let stored = invitations::table.find(row::bytes(id.uuid())).select(InvitationRow::as_select());
    stored.get_result(connection)?.into_invitation()
}

pub(super) fn invite_on(
    connection: &mut SqliteConnection,
    new: &NewInvitation,
) -> Result<Result<Invitation, InviteRefused>, Fault> {
    if check_on(connection, new.by)? == Err(NotAdmin) {
        return Ok(Err(InviteRefused::NotAdmin));
    }
    let organization = new.by.organization();
    let waiting = open(organization).filter(invitations::expires_at.gt(new.now.micros()));
    if waiting.select(count_star()).get_result::<i64>(connection)? >= i64::from(MAX_INVITATIONS) {
        return Ok(Err(InviteRefused::TooMany));
    }
    diesel::insert_into(invitations::table)
        .values((
            invitations::id.eq(row::bytes(new.id.uuid())),
            invitations::organization_id.eq(row::bytes(organization.uuid())),
            invitations::role.eq(new.role.as_str()),
            invitations::email.eq(&new.email),
            invitations::digest.eq(new.digest.bytes().as_slice()),
            invitations::created_by.eq(new.by.user().map(UserId::uuid).map(row::bytes)),
            invitations::created_at.eq(new.now.micros()),
            invitations::expires_at.eq(new.expires_at.micros()),
        ))
        .execute(connection)?;
    audit::append_on(connection, [AuditEntry::invitation_created(new)])?;
    invitation_on(connection, new.id).map(Ok)
}

pub(super) fn list_on(
    connection: &mut SqliteConnection,
    by: Authority,
    page: &PageRequest,
) -> Result<Result<Page<Invitation>, NotAdmin>, Fault> {
    if let Err(refused) = check_on(connection, by)? {
        return Ok(Err(refused));
    }
    let organization = by.organization();
    let total = if page.count {
        Some(of(organization).select(count_star()).get_result::<i64>(connection)?.cast_unsigned())
    } else {
        None
    };
    let mut rows = of(organization);
    if let Some(Position { key, id, .. }) = page.slice.after() {
        // The first condition is redundant; it lets the index scan start at the right row.
        let older = invitations::created_at.lt(key);
        let as_old = invitations::created_at.eq(key).and(invitations::id.lt(row::bytes(id.uuid())));
        rows = rows.filter(invitations::created_at.le(key)).filter(older.or(as_old));
    }
    let rows = rows
        .order((invitations::created_at.desc(), invitations::id.desc()))
        .limit(i64::from(page.slice.limit()) + 1)
        .offset(page.slice.offset())
        .select(InvitationRow::as_select())
        .load(connection)?;
    let rows = rows.into_iter().map(InvitationRow::into_invitation).collect::<Result<Vec<_>, _>>()?;
    let position = |one: &Invitation| Position::at(one.created_at.micros(), one.id);
    Ok(Ok(Page::from_overfetch(rows, page, total, position)))
}

pub(super) fn revoke_on(
    connection: &mut SqliteConnection,
    command: &RevokeInvitation,
) -> Result<Result<Invitation, RevokeInvitationRefused>, Fault> {
    if check_on(connection, command.by)? == Err(NotAdmin) {
        return Ok(Err(RevokeInvitationRefused::NotAdmin));
    }
    let id = row::bytes(command.id.uuid());
    let meant = open(command.by.organization()).filter(invitations::id.eq(&id)).select(invitations::id);
    if meant.get_result::<Vec<u8>>(connection).optional()?.is_none() {
        return Ok(Err(RevokeInvitationRefused::NotFound));
    }
    diesel::update(invitations::table.find(&id))
        .set(invitations::revoked_at.eq(command.now.micros()))
        .execute(connection)?;
    audit::append_on(connection, [AuditEntry::invitation_revoked(command)])?;
    invitation_on(connection, command.id).map(Ok)
}
