//! The store of organizations, their members and their invitations.

use async_trait::async_trait;

use super::authority::Authority;
use super::invitation::Invitation;
use super::invitation::InvitationRefused;
use super::pause::{Pause, PauseReason};
use super::role::{NotAdmin, OrganizationRole};
use crate::account::{KeyDigest, User, UserHandle};
use crate::foreign::ForeignPolicy;
use crate::id::{InvitationId, OrganizationId, UserId};
use crate::message::{MaxHops, MaxPairMessages};
use crate::page::{Page, PageRequest};
use crate::plan::{LimitReached, Organization, OrganizationName, Plan, PlanName, WhichOrganization};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The maximum number of open invitations of one organization.
pub const MAX_INVITATIONS: u32 = 100;

/// An invitation to be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewInvitation {
    /// Identifier.
    pub id: InvitationId,
    /// The authority, which names the organization.
    pub by: Authority,
    /// The role of its guest.
    pub role: OrganizationRole,
    /// The only address that may accept it; `None` for any holder of the token.
    pub email: Option<String>,
    /// Digest of its token.
    pub digest: KeyDigest,
    /// The current time.
    pub now: Timestamp,
    /// The expiry.
    pub expires_at: Timestamp,
}

/// The reason why an invitation was not stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InviteRefused {
    /// Only an admin may do this.
    NotAdmin,
    /// [`MAX_INVITATIONS`] are open already.
    TooMany,
}

/// An invitation to be revoked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RevokeInvitation {
    /// The id.
    pub id: InvitationId,
    /// The authority, which names the organization.
    pub by: Authority,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why an invitation was not revoked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RevokeInvitationRefused {
    /// Only an admin may do this.
    NotAdmin,
    /// The organization does not have it, or it was already accepted or revoked.
    NotFound,
}

/// An organization's use of the resources that its plan limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuotaUse {
    /// The number of its agents, as the plan counts them.
    pub agents: u64,
    /// The number of its active chats, as the plan counts them.
    pub chats: u64,
    /// Bytes of its messages and memories, as counted last ([`crate::plan::PlanRepository::count_bytes`]).
    pub bytes: u64,
}

/// A user's organization, as the user sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrganizationOf {
    /// Identifier.
    pub id: OrganizationId,
    /// Its name.
    pub name: String,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The role of the user.
    pub role: OrganizationRole,
    /// The number of its members.
    pub members: u64,
    /// Its plan.
    pub plan: Plan,
    /// What it has used of its plan; only for admins.
    pub used: Option<QuotaUse>,
    /// Set while it is paused.
    pub pause: Option<Pause>,
    /// The limit of hops in its chats; `None` for that of the server.
    pub max_hops: Option<MaxHops>,
    /// The limit of pairs in its chats; `None` for that of the server.
    pub max_pair_messages: Option<MaxPairMessages>,
    /// What holds for messages that follow from those of other organizations.
    pub foreign: ForeignPolicy,
}

/// A member of an organization, as other members see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// The user.
    pub id: UserId,
    /// The handle.
    pub handle: UserHandle,
    /// The full name.
    pub name: String,
    /// The role.
    pub role: OrganizationRole,
    /// The time at which the account was created.
    pub created_at: Timestamp,
    /// The time at which the user last accepted an invitation to the organization; without one, the time at which the account
    /// was created.
    pub joined_at: Timestamp,
}

/// An organization to be stored, without members.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewOrganization {
    /// Identifier.
    pub id: OrganizationId,
    /// Its name.
    pub name: OrganizationName,
    /// Its plan.
    pub plan: PlanName,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why an organization was not stored.
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
    /// The organization.
    pub organization: OrganizationId,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why an organization was not deleted; the first that applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeleteOrganizationRefused {
    /// There is no such organization.
    NotFound,
    /// It, or one of its chats, is under a legal hold.
    UnderHold,
    /// It has this number of members.
    HasMembers(u64),
    /// It has this number of chats.
    HasChats(u64),
}

/// Changes of an organization; what is `None` stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OrganizationChanges {
    /// The new name.
    pub name: Option<OrganizationName>,
    /// The new limit of hops in its chats; `Some(None)` for that of the server.
    pub max_hops: Option<Option<MaxHops>>,
    /// The new limit of pairs in its chats; `Some(None)` for that of the server.
    pub max_pair_messages: Option<Option<MaxPairMessages>>,
    /// What holds from now on for messages that follow from those of other organizations.
    pub foreign: Option<ForeignPolicy>,
}

impl From<OrganizationName> for OrganizationChanges {
    fn from(name: OrganizationName) -> Self {
        Self { name: Some(name), ..Self::default() }
    }
}

/// An organization to be renamed, or to be given limits or a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenameOrganization {
    /// The authority, which names the organization.
    pub by: Authority,
    /// The changes.
    pub changes: OrganizationChanges,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why an organization was not renamed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RenameOrganizationRefused {
    /// Only an admin may do this.
    NotAdmin,
    /// Another organization has the name, compared without case.
    NameTaken,
}

/// An organization to be paused or resumed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetPaused {
    /// The authority, which names the organization.
    pub by: Authority,
    /// The reason of a pause; `None` to resume.
    pub reason: Option<PauseReason>,
    /// The current time.
    pub now: Timestamp,
}

/// A new role of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetRole {
    /// The authority, which names the organization.
    pub by: Authority,
    /// The member.
    pub member: UserId,
    /// The role.
    pub role: OrganizationRole,
    /// The issuer of the identity provider whose claims decide, if they do.
    pub issuer: Option<String>,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why a member's role was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetRoleRefused {
    /// Only an admin may do this.
    NotAdmin,
    /// The organization has no such member.
    NotFound,
    /// It would be left without an admin.
    LastAdmin,
}

/// A member who leaves an organization, back to an own one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Depart {
    /// The member.
    pub member: UserId,
    /// The organization.
    pub organization: OrganizationId,
    /// The authority; `None` if the member leaves by choice.
    pub by: Option<Authority>,
    /// The id that a new organization gets.
    pub fresh: OrganizationId,
    /// The plan that it gets.
    pub plan: PlanName,
    /// The current time.
    pub now: Timestamp,
}

/// The reason why a member did not leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DepartRefused {
    /// Only an admin may do this.
    NotAdmin,
    /// The organization has no such member.
    NotFound,
    /// It would have members but no admin.
    LastAdmin,
    /// It is the member's own, and has no other members.
    Alone,
}

/// A user who enters an organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enter {
    /// The user.
    pub user: UserId,
    /// The way of entering.
    pub by: EnterBy,
    /// The issuer of the identity provider whose claims decide, if they do.
    pub issuer: Option<String>,
    /// The current time.
    pub now: Timestamp,
}

/// The way in which a user enters an organization.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EnterBy {
    /// By the invitation whose token has this digest.
    Invitation(KeyDigest),
    /// Through the operator, into this one and with this role.
    Operator(OrganizationId, OrganizationRole),
}

/// The reason why a user did not enter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EnterRefused {
    /// There is no such user.
    UserGone,
    /// The invitation cannot be accepted.
    Invitation(InvitationRefused),
    /// The user is already a member; the invitation stays open.
    AlreadyThere,
    /// The current organization of the user would have members but no admin.
    LastAdmin,
    /// The user's agents exceed the plan.
    Limit(LimitReached),
}

/// A user who has moved to another organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moved {
    /// The user in the new state.
    pub user: User,
    /// The previous organization.
    pub from: OrganizationId,
}

/// The store of invitations.
#[async_trait]
pub trait InvitationRepository: Send + Sync {
    /// Stores an invitation. Those that have expired do not count as open.
    async fn invite(&self, new: NewInvitation) -> Result<Result<Invitation, InviteRefused>, StoreError>;

    /// The invitations of an organization, in any state, newest first; the position is (time, id).
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

/// The store of memberships in organizations.
#[async_trait]
pub trait MemberRepository: Send + Sync {
    /// The members of an organization, the oldest account first; the position is (time, id).
    async fn list_members(
        &self,
        organization: OrganizationId,
        page: PageRequest,
    ) -> Result<Page<Member>, StoreError>;

    /// Changes the role of a member. An admin who becomes a member has no open invitations left.
    async fn set_role(&self, command: SetRole) -> Result<Result<Member, SetRoleRefused>, StoreError>;

    /// Moves a member to the member's own organization, if that has no members; else to a new one,
    /// named after the handle, which becomes the member's own.
    async fn depart(
        &self,
        command: Depart,
        on_commit: OnCommit<Moved>,
    ) -> Result<Result<Moved, DepartRefused>, StoreError>;

    /// Moves a user into an organization. Of concurrent uses of one invitation, one succeeds; of
    /// concurrent users with agents, as many as the plan allows.
    async fn enter(
        &self,
        command: Enter,
        on_commit: OnCommit<Moved>,
    ) -> Result<Result<Moved, EnterRefused>, StoreError>;
}

/// Organizations.
#[async_trait]
pub trait OrganizationRepository: MemberRepository + InvitationRepository {
    /// The given organization.
    async fn find_organization(&self, which: WhichOrganization) -> Result<Option<Organization>, StoreError>;

    /// The organization of a user; `None` if there is no such user.
    async fn organization_of(&self, user: UserId) -> Result<Option<OrganizationOf>, StoreError>;

    /// Stores an organization; its first member becomes admin.
    async fn create_organization(
        &self,
        new: NewOrganization,
    ) -> Result<Result<Organization, CreateOrganizationRefused>, StoreError>;

    /// Renames an organization, or sets its limits and its policy.
    async fn rename_organization(
        &self,
        command: RenameOrganization,
    ) -> Result<Result<Organization, RenameOrganizationRefused>, StoreError>;

    /// Pauses an organization, or resumes it. A pause that goes on keeps its beginning and gets the new reason. The
    /// change log has an entry if the state has changed.
    async fn set_paused(&self, command: SetPaused) -> Result<Result<Organization, NotAdmin>, StoreError>;

    /// Deletes an organization without members and chats: its memories are deleted, its open
    /// invitations end, no user returns to it, and its name is free.
    async fn delete_organization(
        &self,
        command: DeleteOrganization,
    ) -> Result<Result<Organization, DeleteOrganizationRefused>, StoreError>;
}
