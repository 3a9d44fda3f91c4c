//! The store of work.

mod change;
mod count;
mod find;
mod list;
#[path = "../../../sql-rows/work.rs"]
pub(crate) mod row;
mod summary;

use async_trait::async_trait;
use diesel::sqlite::SqliteConnection;
use domain::id::AgentId;
use domain::organization::NotAdmin;
use domain::page::{Page, PageRequest};
use domain::store::{OnCommit, StoreError};
use domain::work::{
    AgentWork, ChangeWork, ChangeWorkRefused, ChangedItem, FindWork, FlagBounds, WorkCounts, WorkItem,
    WorkRepository, WorkScope, WorkSearch, WorkTotals,
};

use crate::SqliteStore;
use crate::error::Fault;
use crate::organization::member;

#[async_trait]
impl WorkRepository for SqliteStore {
    async fn list_work(
        &self,
        search: WorkSearch,
        page: PageRequest,
    ) -> Result<Result<Page<WorkItem>, NotAdmin>, StoreError> {
        self.read(move |connection| list::list_on(connection, &search, &page)).await
    }

    async fn summarize_work(
        &self,
        search: WorkSearch,
        flags: FlagBounds,
    ) -> Result<Result<WorkCounts, NotAdmin>, StoreError> {
        self.read(move |connection| summary::summarize_on(connection, &search, flags)).await
    }

    async fn find_work(&self, wanted: FindWork) -> Result<Result<Option<WorkItem>, NotAdmin>, StoreError> {
        self.read(move |connection| find::find_on(connection, wanted)).await
    }

    async fn count_work(&self, flags: FlagBounds) -> Result<WorkTotals, StoreError> {
        self.read(move |connection| count::count_on(connection, flags)).await
    }

    async fn work_of_agents(
        &self,
        agents: Vec<AgentId>,
        flags: FlagBounds,
    ) -> Result<Vec<AgentWork>, StoreError> {
        self.read(move |connection| count::work_of_agents_on(connection, &agents, flags)).await
    }

    async fn flagged_agents(
        &self,
        after: Option<AgentId>,
        limit: u32,
        flags: FlagBounds,
    ) -> Result<Vec<AgentId>, StoreError> {
        self.read(move |connection| count::flagged_agents_on(connection, after, limit, flags)).await
    }

    async fn change_work(
        &self,
        command: ChangeWork,
        on_commit: OnCommit<ChangedItem>,
    ) -> Result<Result<ChangedItem, ChangeWorkRefused>, StoreError> {
        let work = move |connection: &mut SqliteConnection| change::change_on(connection, &command);
        self.change(work, |changed| on_commit.run(changed)).await
    }
}

/// Checks that the scope is that of the reader.
pub(crate) fn check_on(
    connection: &mut SqliteConnection,
    scope: WorkScope,
) -> Result<Result<(), NotAdmin>, Fault> {
    match scope {
        WorkScope::Of(by) => member::check_on(connection, by),
        WorkScope::Everything | WorkScope::OwnedBy(_) | WorkScope::SentBy(_) => Ok(Ok(())),
    }
}
