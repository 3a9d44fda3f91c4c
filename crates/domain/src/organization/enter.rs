//! Entering an organization: by accepting an invitation, or through the operator.

use super::invitation::InvitationRefused;
use super::port::{Enter, EnterBy, EnterRefused, Moved};
use super::role::{LastAdmin, OrganizationRole};
use super::service::OrganizationService;
use crate::caller::UserCaller;
use crate::id::{OrganizationId, UserId};
use crate::plan::LimitReached;
use crate::store::StoreError;

/// The reason why a user did not enter.
#[derive(Debug, thiserror::Error)]
pub enum EnterError {
    /// There is no such user.
    #[error("there is no such user")]
    UserGone,
    /// The user is already a member.
    #[error("the user is already in this organization")]
    AlreadyThere,
    /// The current organization of the user would have members but no admin.
    #[error(transparent)]
    LastAdmin(#[from] LastAdmin),
    /// The user's agents exceed the plan.
    #[error(transparent)]
    Limit(#[from] LimitReached),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why an invitation was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The invitation cannot be accepted.
    #[error(transparent)]
    Invitation(#[from] InvitationRefused),
    /// It could be accepted, but the user cannot enter.
    #[error(transparent)]
    Enter(#[from] EnterError),
}

impl OrganizationService {
    /// Moves the caller to the organization of an invitation; `token` is the text that its guest
    /// has.
    pub async fn accept(&self, caller: UserCaller, token: &str) -> Result<Moved, AcceptError> {
        let digest = self.mint.digest(token.trim());
        self.enter(caller.user, EnterBy::Invitation(digest), None).await
    }

    /// Moves a user into an organization, for the operator.
    pub async fn move_user(
        &self,
        user: UserId,
        to: OrganizationId,
        role: OrganizationRole,
    ) -> Result<Moved, AcceptError> {
        self.enter(user, EnterBy::Operator(to, role), None).await
    }

    /// As [`Self::move_user`], for a rule of the operator on the claims of an identity provider.
    pub(crate) async fn move_by_claims(
        &self,
        user: UserId,
        to: OrganizationId,
        role: OrganizationRole,
        issuer: &str,
    ) -> Result<Moved, AcceptError> {
        self.enter(user, EnterBy::Operator(to, role), Some(issuer.to_owned())).await
    }

    async fn enter(&self, user: UserId, by: EnterBy, issuer: Option<String>) -> Result<Moved, AcceptError> {
        let command = Enter { user, by, issuer, now: self.clock.now() };
        let refused = match self.organizations.enter(command, self.moved()).await.map_err(EnterError::from)? {
            Ok(moved) => return Ok(moved),
            Err(EnterRefused::Invitation(refused)) => return Err(refused.into()),
            Err(EnterRefused::UserGone) => EnterError::UserGone,
            Err(EnterRefused::AlreadyThere) => EnterError::AlreadyThere,
            Err(EnterRefused::LastAdmin) => LastAdmin.into(),
            Err(EnterRefused::Limit(reached)) => reached.into(),
        };
        Err(refused.into())
    }
}
