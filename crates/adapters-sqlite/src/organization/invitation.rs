//! Invitations as rows, and accepting them inside the write that adds a member.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::account::KeyDigest;
use domain::id::{InvitationId, OrganizationId, UserId};
use domain::organization::{Invitation, InvitationRefused, OrganizationRole};
use domain::time::Timestamp;

use crate::error::Fault;
use crate::row;
use crate::schema::invitations;

#[derive(Queryable, Selectable)]
#[diesel(table_name = invitations)]
pub(super) struct InvitationRow {
    id: Vec<u8>,
    organization_id: Vec<u8>,
    role: String,
    email: Option<String>,
    created_by: Option<Vec<u8>>,
    created_at: i64,
    expires_at: i64,
    accepted_at: Option<i64>,
    accepted_by: Option<Vec<u8>>,
    revoked_at: Option<i64>,
}

impl InvitationRow {
    pub(super) fn into_invitation(self) -> Result<Invitation, Fault> {
        let accepted_by = self.accepted_by.as_deref().map(row::user_id).transpose()?;
        Ok(Invitation {
            id: InvitationId::new(row::uuid(&self.id)?),
            organization: OrganizationId::new(row::uuid(&self.organization_id)?),
            role: row::word(&self.role, OrganizationRole::parse)?,
            email: self.email,
            created_by: self.created_by.as_deref().map(row::user_id).transpose()?,
            created_at: row::time(self.created_at),
            expires_at: row::time(self.expires_at),
            accepted: self.accepted_at.map(row::time).zip(accepted_by),
            revoked_at: self.revoked_at.map(row::time),
        })
    }
}

/// The invitation with this token, in any state.
pub(crate) fn find_on(
    connection: &mut SqliteConnection,
    token: KeyDigest,
) -> Result<Option<Invitation>, Fault> {
    let found = invitations::table
        .filter(invitations::digest.eq(token.bytes().as_slice()))
        .select(InvitationRow::as_select())
        .get_result(connection)
        .optional()?;
    found.map(InvitationRow::into_invitation).transpose()
}

/// The invitation with this token, if a user with this address may accept it.
pub(crate) fn open_for_on(
    connection: &mut SqliteConnection,
    token: KeyDigest,
    email: &str,
    now: Timestamp,
) -> Result<Result<Invitation, InvitationRefused>, Fault> {
    let Some(invitation) = find_on(connection, token)? else { return Ok(Err(InvitationRefused::Unknown)) };
    Ok(invitation.check(email, now).map(|()| invitation))
}

/// Records the user who has accepted an invitation that [`open_for_on`] returned.
pub(crate) fn accept_on(
    connection: &mut SqliteConnection,
    invitation: InvitationId,
    user: UserId,
    now: Timestamp,
) -> Result<(), Fault> {
    diesel::update(invitations::table.find(row::bytes(invitation.uuid())))
        .set((
            invitations::accepted_at.eq(now.micros()),
            invitations::accepted_by.eq(row::bytes(user.uuid())),
        ))
        .execute(connection)?;
    Ok(())
}

/// Erases the address from the invitation that a user has accepted.
pub(crate) fn forget_guest_on(connection: &mut SqliteConnection, user: UserId) -> Result<(), Fault> {
    let accepted = invitations::table.filter(invitations::accepted_by.eq(row::bytes(user.uuid())));
    diesel::update(accepted).set(invitations::email.eq(None::<String>)).execute(connection)?;
    Ok(())
}

/// Revokes the open invitations of an organization: those that a user has made, or all.
pub(crate) fn revoke_those_of_on(
    connection: &mut SqliteConnection,
    organization: OrganizationId,
    by: Option<UserId>,
    now: Timestamp,
) -> Result<(), Fault> {
    let open = invitations::table
        .filter(invitations::organization_id.eq(row::bytes(organization.uuid())))
        .filter(invitations::accepted_at.is_null())
        .filter(invitations::revoked_at.is_null());
    let revoked = invitations::revoked_at.eq(now.micros());
    match by {
        Some(user) => {
            let made = open.filter(invitations::created_by.eq(row::bytes(user.uuid())));
            diesel::update(made).set(revoked).execute(connection)?
        }
        None => diesel::update(open).set(revoked).execute(connection)?,
    };
    Ok(())
}
