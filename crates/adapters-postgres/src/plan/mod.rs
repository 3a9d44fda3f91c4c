//! The store of plans and organizations, and the quotas inside other writes.

pub(crate) mod assign;
pub(crate) mod list;
pub(crate) mod quota;

use async_trait::async_trait;
use domain::plan::{AssignPlan, AssignRefused, Organization, Plan, PlanInUse, PlanName, PlanRepository};
use domain::store::StoreError;
use domain::time::Timestamp;
use futures_util::FutureExt;

use crate::PostgresStore;
use crate::run::Never;

#[async_trait]
impl PlanRepository for PostgresStore {
    async fn configure(&self, plans: Vec<Plan>, now: Timestamp) -> Result<Vec<PlanName>, StoreError> {
        let given = (plans, now);
        let done =
            self.change(given, |db, (plans, now)| assign::configure_on(db, plans, *now).boxed(), |_| ());
        done.await?.map_err(|never: Never| match never {})
    }

    async fn plans(&self) -> Result<Vec<PlanInUse>, StoreError> {
        self.read((), |db, ()| list::plans_on(db).boxed()).await
    }

    async fn organizations(&self) -> Result<Vec<Organization>, StoreError> {
        self.ask((), |db, ()| list::organizations_on(db).boxed()).await
    }

    async fn assign(
        &self,
        command: AssignPlan,
        now: Timestamp,
    ) -> Result<Result<Organization, AssignRefused>, StoreError> {
        let given = (command, now);
        self.change(given, |db, (command, now)| assign::assign_on(db, command, *now).boxed(), |_| ()).await
    }
}
