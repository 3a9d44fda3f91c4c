//! The store of organizations, their members and their invitations.

pub(crate) mod invitation;
mod invite;
pub(crate) mod member;

use async_trait::async_trait;
use diesel::sqlite::SqliteConnection;
use domain::organization::{
    Authority, Invitation, InviteRefused, NewInvitation, NotAdmin, OrganizationRepository, RevokeInvitation,
    RevokeInvitationRefused,
};
use domain::page::{Page, PageRequest};
use domain::store::StoreError;

use crate::SqliteStore;

#[async_trait]
impl OrganizationRepository for SqliteStore {
    async fn invite(&self, new: NewInvitation) -> Result<Result<Invitation, InviteRefused>, StoreError> {
        self.change(move |connection| invite::invite_on(connection, &new), |_| ()).await
    }

    async fn list_invitations(
        &self,
        by: Authority,
        page: PageRequest,
    ) -> Result<Result<Page<Invitation>, NotAdmin>, StoreError> {
        self.read(move |connection| invite::list_on(connection, by, &page)).await
    }

    async fn revoke_invitation(
        &self,
        command: RevokeInvitation,
    ) -> Result<Result<Invitation, RevokeInvitationRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| invite::revoke_on(connection, &command);
        self.change(work, |_| ()).await
    }
}
