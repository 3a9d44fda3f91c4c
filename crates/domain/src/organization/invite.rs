//! Inviting people into an organization, and taking invitations back.

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

/// How long an invitation may be accepted, unless somebody says otherwise: a week.
pub const DEFAULT_INVITATION_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How long an invitation may be accepted at the most: ninety days.
pub const MAX_INVITATION_LIFETIME: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Whom to invite.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Invite {
    /// What the guest becomes.
    pub role: OrganizationRole,
    /// Who alone may accept it, from [`crate::account::parse_email`]; `None` for whoever has the token.
    pub email: Option<String>,
    /// Until when; `None` for [`DEFAULT_INVITATION_LIFETIME`].
    pub expires_at: Option<Timestamp>,
}

/// A new invitation, and the one and only sight of its token.
#[derive(Clone, Debug)]
pub struct Invited {
    /// As it is stored.
    pub invitation: Invitation,
    /// `thnv_i_…`, to be handed to the guest.
    pub token: ApiKey,
}

/// Why nobody was invited.
#[derive(Debug, thiserror::Error)]
pub enum InviteError {
    /// Only an admin may.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// It would have expired already.
    #[error("the expiry of an invitation must be in the future")]
    ExpiryPast,
    /// It would be good for longer than [`MAX_INVITATION_LIFETIME`].
    #[error("the expiry of an invitation must be within {} days", MAX_INVITATION_LIFETIME.as_secs() / 86_400)]
    ExpiryTooLate,
    /// There are as many open ones as may be.
    #[error("{MAX_INVITATIONS} invitations are already open; revoke one that is no longer needed")]
    TooMany,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why invitations were not listed.
#[derive(Debug, thiserror::Error)]
pub enum ListInvitationsError {
    /// Only an admin may.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an invitation was not revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeInvitationError {
    /// Only an admin may.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The organization has none such, or it was accepted or revoked before.
    #[error("there is no such invitation that could be revoked")]
    NotFound,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OrganizationService {
    /// Invites somebody. Whether and by whom the token is used is up to who gets it.
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

    /// The invitations of an organization, whatever became of them, newest first.
    pub async fn list_invitations(
        &self,
        by: Authority,
        page: PageRequest,
    ) -> Result<Page<Invitation>, ListInvitationsError> {
        Ok(self.organizations.list_invitations(by, page).await??)
    }

    /// Revokes an invitation that nobody has accepted.
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
