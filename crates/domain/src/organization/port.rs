//! The store of organizations, their members and their invitations.

use async_trait::async_trait;

use super::authority::Authority;
use super::invitation::Invitation;
use super::invitation::InvitationRefused;
use super::role::{NotAdmin, OrganizationRole};
use crate::account::{KeyDigest, User, UserHandle};
use crate::id::{InvitationId, OrganizationId, UserId};
use crate::page::{Page, PageRequest};
use crate::plan::{LimitReached, Organization, OrganizationName, Plan, PlanName, WhichOrganization};
use crate::store::{OnCommit, StoreError};
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

/// A user's organization, as the user sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrganizationOf {
    /// Identifier.
    pub id: OrganizationId,
    /// Its name.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// What the user is there.
    pub role: OrganizationRole,
    /// How many members it has.
    pub members: u64,
    /// What it may use.
    pub plan: Plan,
}

/// Somebody in an organization, as the others there see them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Who.
    pub id: UserId,
    /// Their handle.
    pub handle: UserHandle,
    /// Their name, both parts.
    pub name: String,
    /// What they are there.
    pub role: OrganizationRole,
    /// When their account was made.
    pub created_at: Timestamp,
}

/// An organization to be stored, which nobody belongs to yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewOrganization {
    /// Identifier.
    pub id: OrganizationId,
    /// Its name.
    pub name: OrganizationName,
    /// What it may use.
    pub plan: PlanName,
    /// When.
    pub now: Timestamp,
}

/// Why an organization was not stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CreateOrganizationRefused {
    /// Another one has the name.
    NameTaken,
    /// There is no such plan.
    NoSuchPlan,
}

/// An organization to be deleted by the operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeleteOrganization {
    /// Which.
    pub organization: OrganizationId,
    /// When.
    pub now: Timestamp,
}

/// Why an organization was not deleted; the first that applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeleteOrganizationRefused {
    /// There is no such organization.
    NotFound,
    /// So many users belong to it.
    HasMembers(u64),
    /// It has so many chats.
    HasChats(u64),
}

/// Another name for an organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenameOrganization {
    /// On whose word, and which.
    pub by: Authority,
    /// The name.
    pub name: OrganizationName,
    /// When.
    pub now: Timestamp,
}

/// Why an organization was not renamed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RenameRefused {
    /// Only an admin may.
    NotAdmin,
    /// Another organization has the name, compared without case.
    NameTaken,
}

/// Another role for a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetRole {
    /// On whose word, and where.
    pub by: Authority,
    /// Whose.
    pub member: UserId,
    /// Which.
    pub role: OrganizationRole,
    /// When.
    pub now: Timestamp,
}

/// Why a member has no other role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetRoleRefused {
    /// Only an admin may.
    NotAdmin,
    /// The organization has no such member.
    NotFound,
    /// It would be left without an admin.
    LastAdmin,
}

/// Somebody who is to go from an organization, back to one of their own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Depart {
    /// Who.
    pub member: UserId,
    /// From where.
    pub organization: OrganizationId,
    /// On whose word; `None` for their own.
    pub by: Option<Authority>,
    /// The id that a fresh organization gets.
    pub fresh: OrganizationId,
    /// The plan that it gets.
    pub plan: PlanName,
    /// When.
    pub now: Timestamp,
}

/// Why somebody did not go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DepartRefused {
    /// Only an admin may.
    NotAdmin,
    /// The organization has no such member.
    NotFound,
    /// It would be left without an admin, and with others.
    LastAdmin,
    /// It is their own, and nobody else is in it.
    Alone,
}

/// Somebody who is to come into an organization.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enter {
    /// Who.
    pub user: UserId,
    /// How.
    pub by: EnterBy,
    /// When.
    pub now: Timestamp,
}

/// How somebody comes into an organization.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EnterBy {
    /// By the invitation whose token has this digest.
    Invitation(KeyDigest),
    /// Because the operator says so, to this one and in this role.
    Operator(OrganizationId, OrganizationRole),
}

/// Why somebody did not come in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EnterRefused {
    /// There is no such user.
    UserGone,
    /// The invitation does not let them in.
    Invitation(InvitationRefused),
    /// They are there already; the invitation stays open.
    AlreadyThere,
    /// The organization that they are in would be left without an admin, and with others.
    LastAdmin,
    /// Their agents do not fit into the plan.
    Limit(LimitReached),
}

/// Somebody belongs to another organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moved {
    /// As they are now.
    pub user: User,
    /// Where they were.
    pub from: OrganizationId,
}

/// Organizations.
#[async_trait]
pub trait OrganizationRepository: Send + Sync {
    /// The organization that is meant.
    async fn find_organization(&self, which: WhichOrganization) -> Result<Option<Organization>, StoreError>;

    /// The organization of a user; `None` if there is no such user.
    async fn organization_of(&self, user: UserId) -> Result<Option<OrganizationOf>, StoreError>;

    /// Stores an organization; whoever comes in first is its admin.
    async fn create_organization(
        &self,
        new: NewOrganization,
    ) -> Result<Result<Organization, CreateOrganizationRefused>, StoreError>;

    /// Gives an organization another name.
    async fn rename_organization(
        &self,
        command: RenameOrganization,
    ) -> Result<Result<Organization, RenameRefused>, StoreError>;

    /// Deletes an organization without members and chats: its memories go, its open invitations end, it is nobody's own
    /// any more, and its name is free.
    async fn delete_organization(
        &self,
        command: DeleteOrganization,
    ) -> Result<Result<Organization, DeleteOrganizationRefused>, StoreError>;

    /// The members of an organization, the oldest account first; the position is (time, id).
    async fn list_members(
        &self,
        organization: OrganizationId,
        page: PageRequest,
    ) -> Result<Page<Member>, StoreError>;

    /// Gives a member another role. An admin who becomes a member leaves no open invitations.
    async fn set_role(&self, command: SetRole) -> Result<Result<Member, SetRoleRefused>, StoreError>;

    /// Moves a member to the organization that is their own, if nobody is in it; else makes them a fresh one,
    /// named after the handle, which is theirs from then on.
    async fn depart(
        &self,
        command: Depart,
        on_commit: OnCommit<Moved>,
    ) -> Result<Result<Moved, DepartRefused>, StoreError>;

    /// Moves somebody into an organization. Of many who come by one invitation at once, one does; of many who
    /// come with agents, as many as the plan has room for.
    async fn enter(
        &self,
        command: Enter,
        on_commit: OnCommit<Moved>,
    ) -> Result<Result<Moved, EnterRefused>, StoreError>;

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
