//! Use cases on plans.

use std::sync::Arc;

use super::port::{
    AssignPlan, AssignRefused, Organization, OrganizationInUse, PlanInUse, PlanRepository, WhichOrganization,
};
use super::{Plan, PlanName};
use crate::account::Operator;
use crate::audit::Actor;
use crate::id::OrganizationId;
use crate::page::{Page, PageRequest, Position};
use crate::ports::Clock;
use crate::store::StoreError;

/// The reason why an operator did not assign a plan.
#[derive(Debug, thiserror::Error)]
pub enum AssignError {
    /// There is no such organization or plan.
    #[error("there is no such organization or plan")]
    Refused(AssignRefused),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Use cases on plans and organizations, for the operator.
pub struct PlanService {
    plans: Arc<dyn PlanRepository>,
    clock: Arc<dyn Clock>,
}

impl PlanService {
    /// Wires the area to its ports.
    pub fn new(plans: Arc<dyn PlanRepository>, clock: Arc<dyn Clock>) -> Self {
        Self { plans, clock }
    }

    /// Writes the configured plans to the store. The plan that always exists is the configured one,
    /// or [`Plan::enterprise`]. Returns the plans that organizations have though they are no longer
    /// configured.
    ///
    /// If nothing has changed, nothing is written, so that a server can start on a full disk.
    pub async fn configure(&self, mut plans: Vec<Plan>) -> Result<Vec<PlanName>, StoreError> {
        if plans.iter().all(|plan| plan.name != PlanName::enterprise()) {
            plans.push(Plan::enterprise());
        }
        let stored = self.plans.plans().await?;
        let is_stored = |plan: &Plan| stored.iter().any(|stored| stored.plan == *plan);
        let left = stored.iter().filter(|stored| plans.iter().all(|plan| plan.name != stored.plan.name));
        if plans.iter().all(is_stored) && left.clone().all(|stored| stored.organizations > 0) {
            return Ok(left.map(|stored| stored.plan.name.clone()).collect());
        }
        self.plans.configure(plans, self.clock.now()).await
    }

    /// All plans by name.
    pub async fn list(&self) -> Result<Vec<PlanInUse>, StoreError> {
        self.plans.plans().await
    }

    /// All plans by name, for an operator.
    pub async fn list_by(&self, _: Operator) -> Result<Vec<PlanInUse>, StoreError> {
        self.list().await
    }

    /// Counts the bytes that organizations store, see [`PlanRepository::count_bytes`].
    pub async fn count_bytes(&self) -> Result<u64, StoreError> {
        self.plans.count_bytes().await
    }

    /// All organizations by name.
    pub async fn organizations(&self) -> Result<Vec<Organization>, StoreError> {
        self.plans.organizations().await
    }

    /// All organizations by name, with what they use; the position is the name. Pages are by cursor only.
    pub async fn page(&self, _: Operator, page: PageRequest) -> Result<Page<OrganizationInUse>, StoreError> {
        let after = page.slice.after().map(|after| after.text);
        let rows = self.plans.organizations_after(after, page.slice.limit() + 1).await?;
        Ok(Page::from_overfetch(rows, &page, None, |row| Position::by_text(row.organization.name.clone())))
    }

    /// Assigns a plan to an organization, by a command.
    pub async fn assign(
        &self,
        command: AssignPlan,
    ) -> Result<Result<Organization, AssignRefused>, StoreError> {
        self.plans.assign(command, Actor::Operator, self.clock.now()).await
    }

    /// Assigns a plan to an organization, for an operator.
    pub async fn assign_by(
        &self,
        operator: Operator,
        organization: OrganizationId,
        plan: PlanName,
    ) -> Result<Organization, AssignError> {
        let command = AssignPlan { organization: WhichOrganization::Id(organization), plan };
        let assigned = self.plans.assign(command, operator.user().into(), self.clock.now()).await?;
        assigned.map_err(AssignError::Refused)
    }
}
