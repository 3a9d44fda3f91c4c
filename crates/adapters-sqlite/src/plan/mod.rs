//! The store of plans and organizations, and the quotas inside other writes.

pub(crate) mod assign;
mod bytes;
pub(crate) mod list;
pub(crate) mod quota;
#[path = "../../../sql-rows/plan.rs"]
pub(crate) mod row;

use async_trait::async_trait;
use domain::audit::Actor;
use domain::plan::{
    AssignPlan, AssignRefused, Organization, OrganizationInUse, Plan, PlanInUse, PlanName, PlanRepository,
};
use domain::store::StoreError;
use domain::time::Timestamp;

use self::quota::bytes_of;
use crate::SqliteStore;

#[async_trait]
impl PlanRepository for SqliteStore {
    async fn configure(&self, plans: Vec<Plan>, now: Timestamp) -> Result<Vec<PlanName>, StoreError> {
        self.alter(move |connection| assign::configure_on(connection, &plans, now)).await
    }

    async fn plans(&self) -> Result<Vec<PlanInUse>, StoreError> {
        self.read(list::plans_on).await
    }

    async fn organizations(&self) -> Result<Vec<Organization>, StoreError> {
        self.read(|connection| list::organizations_on(connection, "", i64::MAX)).await
    }

    async fn organizations_after(
        &self,
        after: Option<String>,
        limit: u32,
    ) -> Result<Vec<OrganizationInUse>, StoreError> {
        let after = after.unwrap_or_default();
        self.read(move |connection| list::in_use_on(connection, &after, limit)).await
    }

    async fn count_bytes(&self) -> Result<u64, StoreError> {
        // Added up outside the writer, which only runs for sums that have changed.
        let mut sums = self.read(bytes::sums_on).await?;
        let all = sums.iter().map(|sum| bytes_of(sum.counted)).sum();
        sums.retain(|sum| sum.counted != sum.noted);
        if !sums.is_empty() {
            self.alter(move |connection| bytes::note_on(connection, &sums)).await?;
        }
        Ok(all)
    }

    async fn assign(
        &self,
        command: AssignPlan,
        by: Actor,
        now: Timestamp,
    ) -> Result<Result<Organization, AssignRefused>, StoreError> {
        self.change(move |connection| assign::assign_on(connection, &command, by, now), |_| ()).await
    }
}
