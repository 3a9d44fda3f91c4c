//! The store of organizations, their members, and their invitations.

mod delete;
pub(crate) mod invitation;
mod invite;
pub(crate) mod member;
pub(crate) mod show;
mod transfer;

use async_trait::async_trait;
use diesel::sqlite::SqliteConnection;
use domain::id::{OrganizationId, UserId};
use domain::organization::{
    Authority, CreateOrganizationRefused, DeleteOrganization, DeleteOrganizationRefused, Depart,
    DepartRefused, Enter, EnterRefused, Invitation, InvitationRepository, InviteRefused, Member,
    MemberRepository, Moved, NewInvitation, NewOrganization, NotAdmin, OrganizationOf,
    OrganizationRepository, RenameOrganization, RenameOrganizationRefused, RevokeInvitation,
    RevokeInvitationRefused, SetPaused, SetRole, SetRoleRefused,
};
use domain::page::{Page, PageRequest};
use domain::plan::{Organization, WhichOrganization};
use domain::store::{OnCommit, StoreError};

use crate::SqliteStore;

#[async_trait]
impl OrganizationRepository for SqliteStore {
    async fn find_organization(&self, which: WhichOrganization) -> Result<Option<Organization>, StoreError> {
        self.read(move |connection| show::find_on(connection, &which)).await
    }

    async fn organization_of(&self, user: UserId) -> Result<Option<OrganizationOf>, StoreError> {
        self.read(move |connection| show::of_on(connection, user)).await
    }

    async fn create_organization(
        &self,
        new: NewOrganization,
    ) -> Result<Result<Organization, CreateOrganizationRefused>, StoreError> {
        self.change(move |connection| show::create_on(connection, &new), |_| ()).await
    }

    async fn rename_organization(
        &self,
        command: RenameOrganization,
    ) -> Result<Result<Organization, RenameOrganizationRefused>, StoreError> {
        self.change(move |connection| show::rename_on(connection, &command), |_| ()).await
    }

    async fn set_paused(&self, command: SetPaused) -> Result<Result<Organization, NotAdmin>, StoreError> {
        self.change(move |connection| show::set_paused_on(connection, &command), |_| ()).await
    }

    async fn delete_organization(
        &self,
        command: DeleteOrganization,
    ) -> Result<Result<Organization, DeleteOrganizationRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| delete::delete_on(connection, &command);
        self.change(work, |_| ()).await
    }
}

#[async_trait]
impl MemberRepository for SqliteStore {
    async fn list_members(
        &self,
        organization: OrganizationId,
        page: PageRequest,
    ) -> Result<Page<Member>, StoreError> {
        self.read(move |connection| member::list_on(connection, organization, &page)).await
    }

    async fn set_role(&self, command: SetRole) -> Result<Result<Member, SetRoleRefused>, StoreError> {
        self.change(move |connection| member::set_role_on(connection, &command), |_| ()).await
    }

    async fn depart(
        &self,
        command: Depart,
        on_commit: OnCommit<Moved>,
    ) -> Result<Result<Moved, DepartRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| transfer::depart_on(connection, &command);
        self.change(work, |moved| on_commit.run(moved)).await
    }

    async fn enter(
        &self,
        command: Enter,
        on_commit: OnCommit<Moved>,
    ) -> Result<Result<Moved, EnterRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| transfer::enter_on(connection, &command);
        self.change(work, |moved| on_commit.run(moved)).await
    }
}

#[async_trait]
impl InvitationRepository for SqliteStore {
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
