//! The store of plans and organizations, and the quotas inside other writes.

pub(crate) mod assign;
mod bytes;
pub(crate) mod list;
pub(crate) mod quota;
#[path = "../../../sql-rows/plan.rs"]
pub(crate) mod row;

use std::collections::HashMap;

use async_trait::async_trait;
use domain::audit::Actor;
use domain::plan::{
    AssignPlan, AssignRefused, Organization, OrganizationInUse, Plan, PlanInUse, PlanName, PlanRepository,
};
use domain::store::StoreError;
use domain::time::Timestamp;
use futures_util::FutureExt;
use uuid::Uuid;

use self::quota::bytes_of;
use crate::PostgresStore;

#[async_trait]
impl PlanRepository for PostgresStore {
    async fn configure(&self, plans: Vec<Plan>, now: Timestamp) -> Result<Vec<PlanName>, StoreError> {
        let given = (plans, now);
        self.alter(given, |db, (plans, now)| assign::configure_on(db, plans, *now).boxed()).await
    }

    async fn plans(&self) -> Result<Vec<PlanInUse>, StoreError> {
        self.read((), |db, ()| list::plans_on(db).boxed()).await
    }

    async fn organizations(&self) -> Result<Vec<Organization>, StoreError> {
        self.query((), |db, ()| list::organizations_on(db, "", i64::MAX).boxed()).await
    }

    async fn organizations_after(
        &self,
        after: Option<String>,
        limit: u32,
    ) -> Result<Vec<OrganizationInUse>, StoreError> {
        let given = (after.unwrap_or_default(), limit);
        self.query(given, |db, (after, limit)| list::in_use_on(db, after, *limit).boxed()).await
    }

    async fn count_bytes(&self) -> Result<u64, StoreError> {
        let mut counted = HashMap::<Uuid, i64>::new();
        for of in bytes::ALL {
            let mut after = Uuid::nil();
            loop {
                let part = self.query((of, after), |db, (of, after)| bytes::part_on(db, of, *after).boxed());
                let part = part.await?;
                let Some((.., last)) = part.first() else { break };
                after = *last;
                for (organization, bytes, _) in part {
                    *counted.entry(organization.unwrap_or_default()).or_default() += bytes;
                }
            }
        }
        let all = counted.values().map(|bytes| bytes_of(*bytes)).sum();
        let mut sums = self.query((), |db, ()| bytes::noted_on(db).boxed()).await?;
        sums.retain_mut(|(id, bytes)| {
            let noted = std::mem::replace(bytes, counted.get(id).copied().unwrap_or_default());
            noted != *bytes
        });
        if !sums.is_empty() {
            self.alter_quietly(sums, |db, sums| bytes::note_on(db, sums).boxed()).await?;
        }
        Ok(all)
    }

    async fn assign(
        &self,
        command: AssignPlan,
        by: Actor,
        now: Timestamp,
    ) -> Result<Result<Organization, AssignRefused>, StoreError> {
        let given = (command, by, now);
        self.change(given, |db, (command, by, now)| assign::assign_on(db, command, *by, *now).boxed(), |_| ())
            .await
    }
}
