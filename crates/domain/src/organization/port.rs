//! The store of organizations, their members and their invitations.

use async_trait::async_trait;

use super::authority::Authority;
use super::invitation::Invitation;
use super::role::{NotAdmin, OrganizationRole};
use crate::account::KeyDigest;
use crate::id::InvitationId;
use crate::page::{Page, PageRequest};
use crate::store::StoreError;
use crate::time::Timestamp;

/// How many invitations of one organization may wait for an answer.
pub const MAX_INVITATIONS: u32 = 100;

/// An invitation to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewInvitation {
    /// Identifier.
    pub id: InvitationId,
    /// On whose word, and to which organization.
    pub by: Authority,
    /// What its guest becomes there.
    pub role: OrganizationRole,
    /// Whom it is meant for; `None` for whoever has the token.
    pub email: Option<String>,
    /// Digest of its token.
    pub digest: KeyDigest,
    /// When.
    pub now: Timestamp,
    /// Until when it may be accepted.
    pub expires_at: Timestamp,
}

/// Why an invitation was not stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InviteRefused {
    /// Only an admin may.
    NotAdmin,
    /// [`MAX_INVITATIONS`] are open already.
    TooMany,
}

/// An invitation to be revoked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RevokeInvitation {
    /// Which.
    pub id: InvitationId,
    /// On whose word, and of which organization.
    pub by: Authority,
    /// When.
    pub now: Timestamp,
}

/// Why an invitation was not revoked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RevokeInvitationRefused {
    /// Only an admin may.
    NotAdmin,
    /// The organization has none such, or it was accepted or revoked before.
    NotFound,
}

/// Organizations.
#[async_trait]
pub trait OrganizationRepository: Send + Sync {
    /// Stores an invitation. Those that have expired do not count as open.
    async fn invite(&self, new: NewInvitation) -> Result<Result<Invitation, InviteRefused>, StoreError>;

    /// The invitations of an organization, whatever became of them, newest first; the position is (time, id).
    async fn list_invitations(
        &self,
        by: Authority,
        page: PageRequest,
    ) -> Result<Result<Page<Invitation>, NotAdmin>, StoreError>;

    /// Revokes an invitation that was neither accepted nor revoked.
    async fn revoke_invitation(
        &self,
        command: RevokeInvitation,
    ) -> Result<Result<Invitation, RevokeInvitationRefused>, StoreError>;
}
