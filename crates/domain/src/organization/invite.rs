//! Creating, listing, and revoking invitations.

use std::time::Duration;

use super::authority::Authority;
use super::invitation::Invitation;
use super::port::{InviteRefused, MAX_INVITATIONS, NewInvitation, RevokeInvitation, RevokeInvitationRefused};
use super::role::{NotAdmin, OrganizationRole};
use super::service::OrganizationService;
use crate::account::{ApiKey, KeyKind};
use crate::id::InvitationId;
use crate::page::{Page, PageRequest};
use crate::store::StoreError;
use crate::time::Timestamp;

/// The default lifetime of an invitation: a week.
pub const DEFAULT_INVITATION_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The maximum lifetime of an invitation: ninety days.
pub const MAX_INVITATION_LIFETIME: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// An invitation to be created.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Invite {
    /// The role of the guest.
    pub role: OrganizationRole,
    /// The only address that may accept it, from [`crate::account::parse_email`]; `None` for any
    /// holder of the token.
    pub email: Option<String>,
    /// The expiry; `None` for [`DEFAULT_INVITATION_LIFETIME`].
    pub expires_at: Option<Timestamp>,
}

/// A new invitation with its token, which is shown only here.
#[derive(Clone, Debug)]
pub struct Invited {
    /// As it is stored.
    pub invitation: Invitation,
    /// `thnv_i_…`, for the guest.
    pub token: ApiKey,
}

/// The reason why no invitation was created.
#[derive(Debug, thiserror::Error)]
pub enum InviteError {
    /// Only an admin may do this.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The expiry is in the past.
    #[error("the expiry of an invitation must be in the future")]
    ExpiryPast,
    /// The lifetime exceeds [`MAX_INVITATION_LIFETIME`].
    #[error("the expiry of an invitation must be within {} days", MAX_INVITATION_LIFETIME.as_secs() / 86_400)]
    ExpiryTooLate,
    /// The maximum number of invitations is open.
    #[error("{MAX_INVITATIONS} invitations are already open; revoke one that is no longer needed")]
    TooMany,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why invitations were not listed.
#[derive(Debug, thiserror::Error)]
pub enum ListInvitationsError {
    /// Only an admin may do this.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why an invitation was not revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeInvitationError {
    /// Only an admin may do this.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The organization does not have it, or it was already accepted or revoked.
    #[error("there is no such invitation that could be revoked")]
    NotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OrganizationService {
    /// Creates an invitation. Handing the token to the guest is up to the caller.
    pub async fn invite(&self, by: Authority, command: Invite) -> Result<Invited, InviteError> {
        let now = self.clock.now();
        let expires_at = command.expires_at.unwrap_or_else(|| now.plus(DEFAULT_INVITATION_LIFETIME));
        if expires_at <= now {
            return Err(InviteError::ExpiryPast);
        }
        if expires_at > now.plus(MAX_INVITATION_LIFETIME) {
            return Err(InviteError::ExpiryTooLate);
        }
        let token = self.mint.mint(KeyKind::Invitation, now);
        let new = NewInvitation {
            id: InvitationId::new(self.ids.generate(now)),
            by,
            role: command.role,
            email: command.email,
            digest: token.digest(),
            now,
            expires_at,
        };
        match self.organizations.invite(new).await? {
            Ok(invitation) => Ok(Invited { invitation, token }),
            Err(InviteRefused::NotAdmin) => Err(NotAdmin.into()),
            Err(InviteRefused::TooMany) => Err(InviteError::TooMany),
        }
    }

    /// The invitations of an organization, in any state, newest first.
    pub async fn list_invitations(
        &self,
        by: Authority,
        page: PageRequest,
    ) -> Result<Page<Invitation>, ListInvitationsError> {
        Ok(self.organizations.list_invitations(by, page).await??)
    }

    /// Revokes an invitation that was not accepted.
    pub async fn revoke_invitation(
        &self,
        by: Authority,
        id: InvitationId,
    ) -> Result<Invitation, RevokeInvitationError> {
        let command = RevokeInvitation { id, by, now: self.clock.now() };
        match self.organizations.revoke_invitation(command).await? {
            Ok(invitation) => Ok(invitation),
            Err(RevokeInvitationRefused::NotAdmin) => Err(NotAdmin.into()),
            Err(RevokeInvitationRefused::NotFound) => Err(RevokeInvitationError::NotFound),
        }
    }
}
