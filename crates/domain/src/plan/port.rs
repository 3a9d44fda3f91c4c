//! The store of plans and organizations.

use async_trait::async_trait;

use super::{Plan, PlanName};
use crate::audit::Actor;
use crate::foreign::ForeignPolicy;
use crate::id::OrganizationId;
use crate::message::{MaxHops, MaxPairMessages};
use crate::organization::Pause;
use crate::store::StoreError;
use crate::text::{TextFault, display_name};
use crate::time::Timestamp;

/// An organization's name: 1 to 100 characters on one line; unique, compared without case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrganizationName(String);

impl OrganizationName {
    /// Trims and checks.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        display_name(text, 100).map(Self)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An organization with its plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Organization {
    /// Identifier.
    pub id: OrganizationId,
    /// Its name.
    pub name: String,
    /// Its plan.
    pub plan: PlanName,
    /// The number of its users.
    pub users: u64,
    /// Bytes of its messages and memories, as counted last ([`PlanRepository::count_bytes`]).
    pub bytes: u64,
    /// Set while it is paused.
    pub pause: Option<Pause>,
    /// The limit of hops in its chats; `None` for that of the server.
    pub max_hops: Option<MaxHops>,
    /// The limit of pairs in its chats; `None` for that of the server.
    pub max_pair_messages: Option<MaxPairMessages>,
    /// What holds for messages that follow from those of other organizations.
    pub foreign: ForeignPolicy,
}

/// A plan with the number of organizations that have it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanInUse {
    /// The plan.
    pub plan: Plan,
    /// The number of organizations.
    pub organizations: u64,
}

/// An organization with the limits of its plan, and what counts towards them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrganizationInUse {
    /// The organization.
    pub organization: Organization,
    /// Its plan.
    pub plan: Plan,
    /// The number of its agents, as the plan counts them.
    pub agents: u64,
    /// The number of its active chats, as the plan counts them.
    pub chats: u64,
}

/// A selection of an organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhichOrganization {
    /// The organization with this id.
    Id(OrganizationId),
    /// The organization with this name.
    Named(String),
    /// The one of the user with this handle.
    OfUser(String),
}

/// A plan to be assigned to an organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AssignPlan {
    /// The organization.
    pub organization: WhichOrganization,
    /// The plan.
    pub plan: PlanName,
}

/// The reason why a plan was not assigned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AssignRefused {
    /// There is no such organization, or no such user.
    NoSuchOrganization,
    /// There is no such plan.
    NoSuchPlan,
}

/// Plans and organizations.
#[async_trait]
pub trait PlanRepository: Send + Sync {
    /// Writes the configured plans. Plans that are no longer configured are deleted, unless an
    /// organization has them: those are kept and returned. The change is entered in the change log.
    async fn configure(&self, plans: Vec<Plan>, now: Timestamp) -> Result<Vec<PlanName>, StoreError>;

    /// All plans by name.
    async fn plans(&self) -> Result<Vec<PlanInUse>, StoreError>;

    /// All organizations by name.
    async fn organizations(&self) -> Result<Vec<Organization>, StoreError>;

    /// The first `limit` organizations after this name, by name, with what they use.
    async fn organizations_after(
        &self,
        after: Option<String>,
        limit: u32,
    ) -> Result<Vec<OrganizationInUse>, StoreError>;

    /// Adds up the bytes of each organization's chats and memories, and stores the sums that have
    /// changed, which plans are checked against. Returns the sum over all organizations.
    async fn count_bytes(&self) -> Result<u64, StoreError>;

    /// Assigns a plan to an organization, with an entry in the change log; resources beyond its
    /// limits stay.
    async fn assign(
        &self,
        command: AssignPlan,
        by: Actor,
        now: Timestamp,
    ) -> Result<Result<Organization, AssignRefused>, StoreError>;
}
