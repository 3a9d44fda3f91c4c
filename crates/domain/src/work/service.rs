//! Use cases on work.

use std::sync::Arc;
use std::time::Duration;

use super::flag::{WorkFlag, WorkThresholds};
use super::port::{FindWork, FlagCondition, WorkItem, WorkRepository, WorkScope, WorkSearch};
use super::totals::{AgentWork, WorkTotals};
use crate::delivery::{AttemptCounts, DeliveryStatus};
use crate::id::{AgentId, ChatId, MessageId, ParticipantId};
use crate::organization::NotAdmin;
use crate::page::{Page, PageRequest};
use crate::ports::{Clock, EventPublisher, Presence};
use crate::store::StoreError;
use crate::time::Timestamp;

/// The filters of a list of work.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WorkFilter {
    /// Only the work of this agent.
    pub agent: Option<AgentId>,
    /// Only the work in this chat.
    pub chat: Option<ChatId>,
    /// Only items in this state.
    pub state: Option<DeliveryStatus>,
    /// Only items with this flag.
    pub flag: Option<WorkFlag>,
    /// Only items of at least this age.
    pub min_age: Option<Duration>,
    /// Only items with at least this many attempts.
    pub min_attempts: u32,
    /// Only items whose last error contains this text.
    pub error: Option<String>,
}

/// The reason why work was not listed.
#[derive(Debug, thiserror::Error)]
pub enum ListWorkError {
    /// Only an admin of the organization may.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why an item was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindWorkError {
    /// The message was not sent to such an agent of the caller, or the agent has left the chat.
    #[error("there is no such work")]
    NotFound,
    /// Only an admin of the organization may.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Use cases on work.
pub struct WorkService {
    pub(super) work: Arc<dyn WorkRepository>,
    pub(super) events: Arc<dyn EventPublisher>,
    presence: Arc<dyn Presence>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) thresholds: WorkThresholds,
    pub(super) attempts: Arc<AttemptCounts>,
}

impl WorkService {
    /// Wires the area to its ports.
    pub fn new(
        work: Arc<dyn WorkRepository>,
        events: Arc<dyn EventPublisher>,
        presence: Arc<dyn Presence>,
        clock: Arc<dyn Clock>,
        thresholds: WorkThresholds,
    ) -> Self {
        Self { work, events, presence, clock, thresholds, attempts: Arc::default() }
    }

    /// Counts the attempts that changes end among these.
    #[must_use]
    pub fn counting(self, attempts: Arc<AttemptCounts>) -> Self {
        Self { attempts, ..self }
    }

    /// The current time, for [`Self::flags`] and ages.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Open work, the oldest message first; dead work only if the filter asks for it. Pages are by cursor
    /// only.
    pub async fn list(
        &self,
        scope: WorkScope,
        filter: WorkFilter,
        page: PageRequest,
    ) -> Result<Page<WorkItem>, ListWorkError> {
        let now = self.clock.now();
        let bounds = self.thresholds.at(now);
        let WorkFilter { agent, chat, state, flag, min_age, min_attempts, error } = filter;
        let flag = flag.map(|flag| match flag {
            WorkFlag::Unanswered => FlagCondition::Unanswered(bounds.unanswered),
            WorkFlag::Stuck => FlagCondition::Stuck(bounds.stuck),
            WorkFlag::Failing => FlagCondition::Failing(bounds.failing),
            WorkFlag::Dead => FlagCondition::Dead,
        });
        let written_by = min_age.map(|age| now.minus(age));
        let search = WorkSearch { scope, agent, chat, state, flag, written_by, min_attempts, error };
        Ok(self.work.list_work(search, page).await??)
    }

    /// One item in any state.
    pub async fn find(
        &self,
        scope: WorkScope,
        message: MessageId,
        agent: AgentId,
    ) -> Result<WorkItem, FindWorkError> {
        let found = self.work.find_work(FindWork { scope, message, agent }).await??;
        found.ok_or(FindWorkError::NotFound)
    }

    /// The totals of all work.
    pub async fn totals(&self) -> Result<WorkTotals, StoreError> {
        self.work.count_work(self.thresholds.at(self.clock.now())).await
    }

    /// The work of each of these agents, in this order.
    pub async fn of_agents(&self, agents: Vec<AgentId>) -> Result<Vec<AgentWork>, StoreError> {
        self.work.work_of_agents(agents, self.thresholds.at(self.clock.now())).await
    }

    /// The flags of an item at `now`.
    pub fn flags(&self, item: &WorkItem, now: Timestamp) -> Vec<WorkFlag> {
        self.thresholds.flags(&item.delivery, item.written_at, now)
    }

    /// Returns whether the agent of an item is connected; a platform agent always is.
    pub fn is_connected(&self, item: &WorkItem) -> bool {
        self.presence.is_present(ParticipantId::Agent(item.agent.id), Some(item.agent.is_external))
    }
}
