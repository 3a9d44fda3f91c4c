//! Leaving an organization, and being removed from one.

use super::authority::Authority;
use super::port::{Depart, DepartRefused, Moved};
use super::role::{LastAdmin, NotAdmin};
use super::service::OrganizationService;
use crate::caller::UserCaller;
use crate::id::{OrganizationId, UserId};
use crate::store::StoreError;

/// The reason why a user did not leave.
#[derive(Debug, thiserror::Error)]
pub enum LeaveError {
    /// Only an admin may remove members.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The organization does not have the member, or not any more.
    #[error("there is no such member")]
    MemberNotFound,
    /// The organization would have members but no admin.
    #[error(transparent)]
    LastAdmin(#[from] LastAdmin),
    /// It is the user's own, and has no other members.
    #[error("nobody else is in the organization, which is the member's own")]
    Alone,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OrganizationService {
    /// Removes the caller from the organization, back to an own one.
    pub async fn leave(&self, caller: UserCaller) -> Result<Moved, LeaveError> {
        self.depart(caller.user, caller.organization, None).await
    }

    /// Removes a member, who returns to an own organization. Admins may remove themselves, which is
    /// the same as leaving.
    pub async fn remove(&self, by: Authority, member: UserId) -> Result<Moved, LeaveError> {
        self.depart(member, by.organization(), Some(by)).await
    }

    async fn depart(
        &self,
        member: UserId,
        organization: OrganizationId,
        by: Option<Authority>,
    ) -> Result<Moved, LeaveError> {
        let now = self.clock.now();
        let fresh = OrganizationId::new(self.ids.generate(now));
        let command = Depart { member, organization, by, fresh, plan: self.plan.clone(), now };
        match self.organizations.depart(command, self.moved()).await? {
            Ok(moved) => Ok(moved),
            Err(DepartRefused::NotAdmin) => Err(NotAdmin.into()),
            Err(DepartRefused::NotFound) => Err(LeaveError::MemberNotFound),
            Err(DepartRefused::LastAdmin) => Err(LastAdmin.into()),
            Err(DepartRefused::Alone) => Err(LeaveError::Alone),
        }
    }
}
