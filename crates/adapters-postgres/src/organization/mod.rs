//! The store of organizations, their members, and their invitations.

mod delete;
pub(crate) mod invitation;
mod invite;
pub(crate) mod member;
pub(crate) mod show;
mod transfer;

use async_trait::async_trait;
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
use futures_util::FutureExt;

use crate::PostgresStore;

#[async_trait]
impl OrganizationRepository for PostgresStore {
    async fn find_organization(&self, which: WhichOrganization) -> Result<Option<Organization>, StoreError> {
        self.read(which, |db, which| show::find_on(db, which).boxed()).await
    }

    async fn organization_of(&self, user: UserId) -> Result<Option<OrganizationOf>, StoreError> {
        self.read(user, |db, user| show::of_on(db, *user).boxed()).await
    }

    async fn create_organization(
        &self,
        new: NewOrganization,
    ) -> Result<Result<Organization, CreateOrganizationRefused>, StoreError> {
        self.change(new, |db, new| show::create_on(db, new).boxed(), |_| ()).await
    }

    async fn rename_organization(
        &self,
        command: RenameOrganization,
    ) -> Result<Result<Organization, RenameOrganizationRefused>, StoreError> {
        self.change(command, |db, command| show::rename_on(db, command).boxed(), |_| ()).await
    }

    async fn set_paused(&self, command: SetPaused) -> Result<Result<Organization, NotAdmin>, StoreError> {
        self.change(command, |db, command| show::set_paused_on(db, command).boxed(), |_| ()).await
    }

    async fn delete_organization(
        &self,
        command: DeleteOrganization,
    ) -> Result<Result<Organization, DeleteOrganizationRefused>, StoreError> {
        self.change(command, |db, command| delete::delete_on(db, command).boxed(), |_| ()).await
    }
}

#[async_trait]
impl MemberRepository for PostgresStore {
    async fn list_members(
        &self,
        organization: OrganizationId,
        page: PageRequest,
    ) -> Result<Page<Member>, StoreError> {
        let given = (organization, page);
        self.read(given, |db, (organization, page)| member::list_on(db, *organization, page).boxed()).await
    }

    async fn set_role(&self, command: SetRole) -> Result<Result<Member, SetRoleRefused>, StoreError> {
        self.change(command, |db, command| member::set_role_on(db, command).boxed(), |_| ()).await
    }

    async fn depart(
        &self,
        command: Depart,
        on_commit: OnCommit<Moved>,
    ) -> Result<Result<Moved, DepartRefused>, StoreError> {
        let announce = |moved: &Moved| on_commit.run(moved);
        self.change(command, |db, command| transfer::depart_on(db, command).boxed(), announce).await
    }

    async fn enter(
        &self,
        command: Enter,
        on_commit: OnCommit<Moved>,
    ) -> Result<Result<Moved, EnterRefused>, StoreError> {
        let announce = |moved: &Moved| on_commit.run(moved);
        self.change(command, |db, command| transfer::enter_on(db, command).boxed(), announce).await
    }
}

#[async_trait]
impl InvitationRepository for PostgresStore {
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
