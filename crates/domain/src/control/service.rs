//! Use cases on control.

use std::sync::Arc;

use super::execution::{Execution, ExecutionStatus};
use super::port::ControlRepository;
use crate::activity::ActivityService;
use crate::caller::UserCaller;
use crate::id::AgentId;
use crate::page::{Page, PageRequest};
use crate::ports::{Clock, EventPublisher, IdGenerator};
use crate::store::StoreError;

/// The reason why executions were not listed.
#[derive(Debug, thiserror::Error)]
pub enum ListExecutionsError {
    /// The caller has no such agent.
    #[error("there is no such agent of the caller")]
    AgentNotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Use cases on control.
pub struct ControlService {
    pub(super) control: Arc<dyn ControlRepository>,
    pub(super) activity: Arc<ActivityService>,
    pub(super) events: Arc<dyn EventPublisher>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGenerator>,
}

impl ControlService {
    /// Wires the area to its ports.
    pub fn new(
        control: Arc<dyn ControlRepository>,
        activity: Arc<ActivityService>,
        events: Arc<dyn EventPublisher>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Self {
        Self { control, activity, events, clock, ids }
    }

    /// The executions of one of the caller's agents, the newest chat first. Pages are by cursor only.
    pub async fn executions(
        &self,
        caller: UserCaller,
        agent: AgentId,
        page: PageRequest,
    ) -> Result<Page<Execution>, ListExecutionsError> {
        let found = self.control.executions(caller.user, agent, page).await?;
        found.ok_or(ListExecutionsError::AgentNotFound)
    }

    /// The status of an execution at this moment.
    pub fn status(&self, execution: &Execution) -> ExecutionStatus {
        let working = self.activity.working_in(execution.chat);
        execution.facts.status(working.iter().any(|one| one.agent == execution.agent))
    }
}
