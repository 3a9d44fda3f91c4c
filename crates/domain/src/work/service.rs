//! Use cases on work.

use std::sync::Arc;
use std::time::Duration;

use super::flag::{WorkFlag, WorkThresholds};
use super::port::{FindWork, FlagCondition, WorkItem, WorkRepository, WorkScope, WorkSearch};
use super::summary::WorkSummary;
use super::totals::{AgentWork, WorkTotals};
use crate::account::Operator;
use crate::chat::ChatRepository;
use crate::delivery::{AttemptCounts, DeliveryStatus};
use crate::id::{AgentId, ChatId, MessageId, ParticipantId};
use crate::message::MessageRepository;
use crate::organization::NotAdmin;
use crate::page::{Page, PageRequest, Position};
use crate::ports::{Clock, EventPublisher, IdGenerator, Presence};
use crate::store::StoreError;
use crate::time::Timestamp;

/// The filters of a list of work.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WorkFilter {
    /// Only the work of this agent.
    pub agent: Option<AgentId>,
    /// Only the work in this chat.
    pub chat: Option<ChatId>,
    /// Only the messages of the tree that this message began.
    pub root: Option<MessageId>,
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

impl WorkFilter {
    /// Returns whether every item matches.
    pub fn is_empty(&self) -> bool {
        let Self { agent, chat, root, state, flag, min_age, min_attempts, error } = self;
        agent.is_none()
            && chat.is_none()
            && root.is_none()
            && state.is_none()
            && flag.is_none()
            && min_age.is_none_or(|age| age.is_zero())
            && *min_attempts == 0
            && error.as_ref().is_none_or(String::is_empty)
    }
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

/// The dependencies of [`WorkService`].
pub struct WorkPorts {
    /// Work.
    pub work: Arc<dyn WorkRepository>,
    /// The participants of chats.
    pub chats: Arc<dyn ChatRepository>,
    /// The texts that are sent again.
    pub messages: Arc<dyn MessageRepository>,
    /// Receives every event.
    pub events: Arc<dyn EventPublisher>,
    /// Knows who is online.
    pub presence: Arc<dyn Presence>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Generates ids.
    pub ids: Arc<dyn IdGenerator>,
    /// Counts the attempts that changes end.
    pub attempts: Arc<AttemptCounts>,
}

/// Use cases on work.
pub struct WorkService {
    pub(super) ports: WorkPorts,
    pub(super) thresholds: WorkThresholds,
}

impl WorkService {
    /// Wires the area to its ports.
    pub const fn new(ports: WorkPorts, thresholds: WorkThresholds) -> Self {
        Self { ports, thresholds }
    }

    /// The current time, for [`Self::flags`] and ages.
    pub fn now(&self) -> Timestamp {
        self.ports.clock.now()
    }

    /// Open work, the oldest message first; dead or held work only if the filter asks for it. Pages are by cursor
    /// only.
    pub async fn list(
        &self,
        scope: WorkScope,
        filter: WorkFilter,
        page: PageRequest,
    ) -> Result<Page<WorkItem>, ListWorkError> {
        let search = self.search(scope, filter, self.now());
        Ok(self.ports.work.list_work(search, page).await??)
    }

    /// Numbers of open work by state, agent, and error; of dead or held work only if the filter asks for it.
    pub async fn summary(&self, scope: WorkScope, filter: WorkFilter) -> Result<WorkSummary, ListWorkError> {
        let now = self.now();
        let search = self.search(scope, filter, now);
        let counts = self.ports.work.summarize_work(search, self.thresholds.at(now)).await??;
        Ok(WorkSummary::of(counts, scope.reveals_errors()))
    }

    fn search(&self, scope: WorkScope, filter: WorkFilter, now: Timestamp) -> WorkSearch {
        let bounds = self.thresholds.at(now);
        let WorkFilter { agent, chat, root, state, flag, min_age, min_attempts, error } = filter;
        let flag = flag.map(|flag| match flag {
            WorkFlag::Unanswered => FlagCondition::Unanswered(bounds.unanswered),
            WorkFlag::Stuck => FlagCondition::Stuck(bounds.stuck),
            WorkFlag::Failing => FlagCondition::Failing(bounds.failing),
            WorkFlag::Dead => FlagCondition::Dead,
            WorkFlag::Held => FlagCondition::Held,
        });
        let written_by = min_age.map(|age| now.minus(age));
        WorkSearch { scope, agent, chat, root, state, flag, written_by, min_attempts, error }
    }

    /// One item in any state.
    pub async fn find(
        &self,
        scope: WorkScope,
        message: MessageId,
        agent: AgentId,
    ) -> Result<WorkItem, FindWorkError> {
        let found = self.ports.work.find_work(FindWork { scope, message, agent }).await??;
        found.ok_or(FindWorkError::NotFound)
    }

    /// The totals of all work.
    pub async fn totals(&self) -> Result<WorkTotals, StoreError> {
        self.ports.work.count_work(self.thresholds.at(self.now())).await
    }

    /// The work of each of these agents, in this order.
    pub async fn of_agents(&self, agents: Vec<AgentId>) -> Result<Vec<AgentWork>, StoreError> {
        self.ports.work.work_of_agents(agents, self.thresholds.at(self.now())).await
    }

    /// The agents of all users that have work with a flag, by id, with their work; the position is the agent. Pages
    /// are by cursor only.
    pub async fn flagged_agents(
        &self,
        _: Operator,
        page: PageRequest,
    ) -> Result<Page<AgentWork>, StoreError> {
        let bounds = self.thresholds.at(self.now());
        let after = page.slice.after().map(|after| AgentId::new(after.id.uuid()));
        let agents = self.ports.work.flagged_agents(after, page.slice.limit() + 1, bounds).await?;
        let agents = Page::from_overfetch(agents, &page, None, |agent| Position::at(0, *agent));
        let rows = self.ports.work.work_of_agents(agents.rows, bounds).await?;
        Ok(Page { rows, next: agents.next, total: None })
    }

    /// The flags of an item at `now`.
    pub fn flags(&self, item: &WorkItem, now: Timestamp) -> Vec<WorkFlag> {
        self.thresholds.flags(&item.delivery, item.written_at, now)
    }

    /// Returns whether an agent is connected; a platform agent, which is not external, always is.
    pub fn is_connected(&self, agent: AgentId, is_external: bool) -> bool {
        self.ports.presence.is_present(ParticipantId::Agent(agent), Some(is_external))
    }
}
