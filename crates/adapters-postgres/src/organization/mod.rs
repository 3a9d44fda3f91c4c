//! The store of organizations, their members and their invitations.

pub(crate) mod invitation;
mod invite;
pub(crate) mod member;

use async_trait::async_trait;
use domain::organization::{
    Authority, Invitation, InviteRefused, NewInvitation, NotAdmin, OrganizationRepository, RevokeInvitation,
    RevokeInvitationRefused,
};
use domain::page::{Page, PageRequest};
use domain::store::StoreError;
use futures_util::FutureExt;

use crate::PostgresStore;

#[async_trait]
impl OrganizationRepository for PostgresStore {
    async fn invite(&self, new: NewInvitation) -> Result<Result<Invitation, InviteRefused>, StoreError> {
        self.change(new, |db, new| invite::invite_on(db, new).boxed(), |_| ()).await
    }

    async fn list_invitations(
        &self,
        by: Authority,
        page: PageRequest,
    ) -> Result<Result<Page<Invitation>, NotAdmin>, StoreError> {
        self.read((by, page), |db, (by, page)| invite::list_on(db, *by, page).boxed()).await
    }

    async fn revoke_invitation(
        &self,
        command: RevokeInvitation,
    ) -> Result<Result<Invitation, RevokeInvitationRefused>, StoreError> {
        self.change(command, |db, command| invite::revoke_on(db, command).boxed(), |_| ()).await
    }
}
