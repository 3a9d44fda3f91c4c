//! The store of work.

mod change;
mod count;
mod find;
mod list;
#[path = "../../../sql-rows/work.rs"]
pub(crate) mod row;
mod summary;

use async_trait::async_trait;
use domain::id::AgentId;
use domain::organization::NotAdmin;
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};
use domain::work::{
    AgentWork, ChangeWork, ChangeWorkRefused, ChangedItem, FindWork, FlagBounds, WorkCounts, WorkItem,
    WorkRepository, WorkScope, WorkSearch, WorkTotals,
};
use futures_util::FutureExt;

use crate::PostgresStore;
use crate::error::Fault;
use crate::organization::member;
use crate::run::Db;

#[async_trait]
impl WorkRepository for PostgresStore {
    async fn list_work(
        &self,
        search: WorkSearch,
        page: PageRequest,
    ) -> Result<Result<Page<WorkItem>, NotAdmin>, StoreError> {
        self.read((search, page), |db, (search, page)| list::list_on(db, search, page).boxed()).await
    }

    async fn summarize_work(
        &self,
        search: WorkSearch,
        flags: FlagBounds,
    ) -> Result<Result<WorkCounts, NotAdmin>, StoreError> {
        let given = (search, flags);
        self.read(given, |db, (search, flags)| summary::summarize_on(db, search, *flags).boxed()).await
    }

    async fn find_work(&self, wanted: FindWork) -> Result<Result<Option<WorkItem>, NotAdmin>, StoreError> {
        self.read(wanted, |db, wanted| find::find_on(db, *wanted).boxed()).await
    }

    async fn count_work(&self, flags: FlagBounds) -> Result<WorkTotals, StoreError> {
        self.query(flags, |db, flags| count::count_on(db, *flags).boxed()).await
    }

    async fn work_of_agents(
        &self,
        agents: Vec<AgentId>,
        flags: FlagBounds,
    ) -> Result<Vec<AgentWork>, StoreError> {
        let given = (agents, flags);
        self.query(given, |db, (agents, flags)| count::work_of_agents_on(db, agents, *flags).boxed()).await
    }

    async fn flagged_agents(
        &self,
        after: Option<AgentId>,
        limit: u32,
        flags: FlagBounds,
    ) -> Result<Vec<AgentId>, StoreError> {
        let given = (after, limit, flags);
        let flagged = self.query(given, |db, (after, limit, flags)| {
            count::flagged_agents_on(db, *after, *limit, *flags).boxed()
        });
        flagged.await
    }

    async fn change_work(
        &self,
        command: ChangeWork,
        on_commit: OnCommit<ChangedItem>,
    ) -> Result<Result<ChangedItem, ChangeWorkRefused>, StoreError> {
        let announcing = |changed: &ChangedItem| on_commit.run(changed);
        self.change(command, |db, command| change::change_on(db, command).boxed(), announcing).await
    }
}

/// Checks that the scope is that of the reader.
pub(crate) async fn check_on(db: &Db, scope: WorkScope) -> Result<Result<(), NotAdmin>, Fault> {
    match scope {
        WorkScope::Of(by) => member::check_on(db, by).await,
        WorkScope::Everything | WorkScope::OwnedBy(_) | WorkScope::SentBy(_) => Ok(Ok(())),
    }
}
