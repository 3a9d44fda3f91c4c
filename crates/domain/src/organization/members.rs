//! An organization, its name, its members and their roles.

use super::authority::Authority;
use super::port::{
    CreateOrganizationRefused, Member, NewOrganization, OrganizationChanges, OrganizationOf,
    RenameOrganization, RenameOrganizationRefused, SetRole, SetRoleRefused,
};
use super::role::{LastAdmin, NotAdmin, OrganizationRole};
use super::service::OrganizationService;
use crate::caller::UserCaller;
use crate::id::{OrganizationId, UserId};
use crate::page::{Page, PageRequest};
use crate::plan::{Organization, OrganizationName, PlanName, WhichOrganization};
use crate::store::StoreError;

/// The reason why an organization was not created.
#[derive(Debug, thiserror::Error)]
pub enum CreateOrganizationError {
    /// Another one has the name.
    #[error("the name is already taken")]
    NameTaken,
    /// There is no such plan.
    #[error("there is no such plan")]
    NoSuchPlan,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why an organization was not renamed.
#[derive(Debug, thiserror::Error)]
pub enum RenameError {
    /// Only an admin may do this.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// Another organization has the name.
    #[error("the name is already taken")]
    NameTaken,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a member's role was not changed.
#[derive(Debug, thiserror::Error)]
pub enum SetRoleError {
    /// Only an admin may do this.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The organization has no such member.
    #[error("there is no such member")]
    MemberNotFound,
    /// It would be left without an admin.
    #[error(transparent)]
    LastAdmin(#[from] LastAdmin),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OrganizationService {
    /// The caller's organization; `None` if the account was deleted after it authenticated.
    pub async fn show(&self, caller: UserCaller) -> Result<Option<OrganizationOf>, StoreError> {
        self.organizations.organization_of(caller.user).await
    }

    /// The given organization, for the operator.
    pub async fn find(&self, which: WhichOrganization) -> Result<Option<Organization>, StoreError> {
        self.organizations.find_organization(which).await
    }

    /// Creates an organization without members, with the default plan unless one is given; for the
    /// operator.
    pub async fn create(
        &self,
        name: OrganizationName,
        plan: Option<PlanName>,
    ) -> Result<Organization, CreateOrganizationError> {
        let now = self.clock.now();
        let id = OrganizationId::new(self.ids.generate(now));
        let plan = plan.unwrap_or_else(|| self.plan.clone());
        match self.organizations.create_organization(NewOrganization { id, name, plan, now }).await? {
            Ok(organization) => Ok(organization),
            Err(CreateOrganizationRefused::NameTaken) => Err(CreateOrganizationError::NameTaken),
            Err(CreateOrganizationRefused::NoSuchPlan) => Err(CreateOrganizationError::NoSuchPlan),
        }
    }

    /// Renames an organization, or changes its limits, which apply to texts sent after the change.
    pub async fn rename(
        &self,
        by: Authority,
        changes: impl Into<OrganizationChanges>,
    ) -> Result<Organization, RenameError> {
        let command = RenameOrganization { by, changes: changes.into(), now: self.clock.now() };
        match self.organizations.rename_organization(command).await? {
            Ok(organization) => Ok(organization),
            Err(RenameOrganizationRefused::NotAdmin) => Err(NotAdmin.into()),
            Err(RenameOrganizationRefused::NameTaken) => Err(RenameError::NameTaken),
        }
    }

    /// The members of an organization, the oldest account first; every member may read them.
    pub async fn list_members(
        &self,
        organization: OrganizationId,
        page: PageRequest,
    ) -> Result<Page<Member>, StoreError> {
        self.organizations.list_members(organization, page).await
    }

    /// Changes the role of a member, who may be the caller.
    pub async fn set_role(
        &self,
        by: Authority,
        member: UserId,
        role: OrganizationRole,
    ) -> Result<Member, SetRoleError> {
        self.set_role_for(by, member, role, None).await
    }

    /// As [`Self::set_role`], for a rule of the operator on the claims of an identity provider.
    pub(crate) async fn set_role_by_claims(
        &self,
        organization: OrganizationId,
        member: UserId,
        role: OrganizationRole,
        issuer: &str,
    ) -> Result<Member, SetRoleError> {
        self.set_role_for(Authority::Operator(organization), member, role, Some(issuer.to_owned())).await
    }

    async fn set_role_for(
        &self,
        by: Authority,
        member: UserId,
        role: OrganizationRole,
        issuer: Option<String>,
    ) -> Result<Member, SetRoleError> {
        let command = SetRole { by, member, role, issuer, now: self.clock.now() };
        match self.organizations.set_role(command).await? {
            Ok(member) => Ok(member),
            Err(SetRoleRefused::NotAdmin) => Err(NotAdmin.into()),
            Err(SetRoleRefused::NotFound) => Err(SetRoleError::MemberNotFound),
            Err(SetRoleRefused::LastAdmin) => Err(LastAdmin.into()),
        }
    }
}
