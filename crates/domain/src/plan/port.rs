//! The store of plans and organizations.

use async_trait::async_trait;

use super::{Plan, PlanName};
use crate::id::OrganizationId;
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
    /// How many users it has.
    pub users: u64,
    /// Bytes of its messages and memories, as they were counted last ([`PlanRepository::count_bytes`]).
    pub bytes: u64,
}

/// A plan, and how many organizations have it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanInUse {
    /// The plan.
    pub plan: Plan,
    /// How many have it.
    pub organizations: u64,
}

/// Whose plan is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhichOrganization {
    /// The organization of this name.
    Named(String),
    /// The one of the user with this handle.
    OfUser(String),
}

/// A plan to be given to an organization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AssignPlan {
    /// To whom.
    pub organization: WhichOrganization,
    /// Which.
    pub plan: PlanName,
}

/// Why a plan was not given.
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
    /// Writes the configured plans. Those that are configured no longer go, unless an organization
    /// has them: these stay as they were and are given. That is written into the log of changes.
    async fn configure(&self, plans: Vec<Plan>, now: Timestamp) -> Result<Vec<PlanName>, StoreError>;

    /// All plans by name.
    async fn plans(&self) -> Result<Vec<PlanInUse>, StoreError>;

    /// All organizations by name.
    async fn organizations(&self) -> Result<Vec<Organization>, StoreError>;

    /// Adds up the bytes of each organization's rooms and memories, and writes those sums that have changed, which is what plans
    /// are checked against. Gives the sum over all organizations.
    async fn count_bytes(&self) -> Result<u64, StoreError>;

    /// Gives an organization a plan, and writes that into the log of changes; what it has already beyond the
    /// plan's limits stays.
    async fn assign(
        &self,
        command: AssignPlan,
        now: Timestamp,
    ) -> Result<Result<Organization, AssignRefused>, StoreError>;
}
