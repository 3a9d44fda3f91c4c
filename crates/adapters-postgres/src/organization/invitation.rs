//! Invitations as rows, and accepting them inside the write that adds a member.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use domain::account::KeyDigest;
use domain::id::{InvitationId, OrganizationId, UserId};
use domain::organization::{Invitation, InvitationRefused, OrganizationRole};
use domain::time::Timestamp;
use uuid::Uuid;

use crate::error::Fault;
use crate::lock;
use crate::row::{self, At};
use crate::run::Db;
use crate::schema::invitations;

#[derive(Queryable, Selectable)]
#[diesel(table_name = invitations)]
pub(super) struct InvitationRow {
    id: Uuid,
    organization_id: Uuid,
    role: String,
    email: Option<String>,
    created_by: Option<Uuid>,
    created_at: At,
    expires_at: At,
    accepted_at: Option<At>,
    accepted_by: Option<Uuid>,
    revoked_at: Option<At>,
}

impl InvitationRow {
    pub(super) fn into_invitation(self) -> Result<Invitation, Fault> {
        let time = |at: Option<At>| at.map(|At(time)| time);
        Ok(Invitation {
            id: InvitationId::new(self.id),
            organization: OrganizationId::new(self.organization_id),
            role: row::word(&self.role, OrganizationRole::parse)?,
            email: self.email,
            created_by: self.created_by.map(UserId::new),
            created_at: self.created_at.0,
            expires_at: self.expires_at.0,
            accepted: time(self.accepted_at).zip(self.accepted_by.map(UserId::new)),
            revoked_at: time(self.revoked_at),
        })
    }
}

/// The organization of the invitation with this token, which never changes; the state of the
/// invitation is not checked.
pub(super) async fn destination_on(
    mut db: &Db,
    token: KeyDigest,
) -> Result<Result<OrganizationId, InvitationRefused>, Fault> {
    let of_token = invitations::table.filter(invitations::digest.eq(token.bytes().to_vec()));
    let found = of_token.select(invitations::organization_id).first::<Uuid>(&mut db).await.optional()?;
    Ok(found.map(OrganizationId::new).ok_or(InvitationRefused::Unknown))
}

/// The invitation with this token, in any state.
pub(crate) async fn find_on(mut db: &Db, token: KeyDigest) -> Result<Option<Invitation>, Fault> {
    let of_token = invitations::table.filter(invitations::digest.eq(token.bytes().to_vec()));
    let found = of_token.select(InvitationRow::as_select()).first(&mut db).await.optional()?;
    found.map(InvitationRow::into_invitation).transpose()
}

/// The invitation with this token, if a user with this address may accept it; locks the people of
/// its organization.
pub(crate) async fn open_for_on(
    mut db: &Db,
    token: KeyDigest,
    email: &str,
    now: Timestamp,
) -> Result<Result<Invitation, InvitationRefused>, Fault> {
    let organization = match destination_on(db, token).await? {
        Ok(organization) => organization,
        Err(refused) => return Ok(Err(refused)),
    };
    lock::people_on(db, organization).await?;
    let of_token = invitations::table.filter(invitations::digest.eq(token.bytes().to_vec()));
    let invitation = of_token.select(InvitationRow::as_select()).first(&mut db).await?.into_invitation()?;
    Ok(invitation.check(email, now).map(|()| invitation))
}

/// Records the user who has accepted an invitation that [`open_for_on`] returned.
pub(crate) async fn accept_on(
    mut db: &Db,
    invitation: InvitationId,
    user: UserId,
    now: Timestamp,
) -> Result<(), Fault> {
    diesel::update(invitations::table.find(invitation.uuid()))
        .set((invitations::accepted_at.eq(At(now)), invitations::accepted_by.eq(user.uuid())))
        .execute(&mut db)
        .await?;
    Ok(())
}

/// Erases the address from the invitation that a user has accepted.
pub(crate) async fn forget_guest_on(mut db: &Db, user: UserId) -> Result<(), Fault> {
    let accepted = invitations::table.filter(invitations::accepted_by.eq(user.uuid()));
    diesel::update(accepted).set(invitations::email.eq(None::<String>)).execute(&mut db).await?;
    Ok(())
}

/// Revokes the open invitations of an organization, whose people are locked: those that a user has
/// made, or all.
pub(crate) async fn revoke_those_of_on(
    mut db: &Db,
    organization: OrganizationId,
    by: Option<UserId>,
    now: Timestamp,
) -> Result<(), Fault> {
    let open = invitations::table
        .filter(invitations::organization_id.eq(organization.uuid()))
        .filter(invitations::accepted_at.is_null())
        .filter(invitations::revoked_at.is_null());
    let revoked = invitations::revoked_at.eq(At(now));
    match by {
        Some(user) => {
            let made = open.filter(invitations::created_by.eq(user.uuid()));
            diesel::update(made).set(revoked).execute(&mut db).await?
        }
        None => diesel::update(open).set(revoked).execute(&mut db).await?,
    };
    Ok(())
}
