//! Use cases on usage.

use std::sync::Arc;

use super::day::Day;
use super::port::{UsageGroup, UsageList, UsageRepository, UsageSearch, UsageSum};
use super::price::Prices;
use crate::id::{AgentId, ChatId, MessageId};
use crate::page::PageRequest;
use crate::ports::Clock;
use crate::store::StoreError;
use crate::work::{ListWorkError, WorkScope};

/// The number of days in a list without a first day.
const DEFAULT_DAYS: i64 = 30;

/// The filters of a list of usage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UsageFilter {
    /// The first day; by default, the list has the 30 days that end with `until`, or with today.
    pub since: Option<Day>,
    /// The last day.
    pub until: Option<Day>,
    /// Only that of this agent.
    pub agent: Option<AgentId>,
    /// Only that in this chat.
    pub chat: Option<ChatId>,
    /// Only that in the tree that this message began.
    pub root: Option<MessageId>,
}

/// Use cases on usage.
pub struct UsageService {
    usage: Arc<dyn UsageRepository>,
    prices: Prices,
    clock: Arc<dyn Clock>,
}

impl UsageService {
    /// Wires the area to its ports.
    pub fn new(usage: Arc<dyn UsageRepository>, prices: Prices, clock: Arc<dyn Clock>) -> Self {
        Self { usage, prices, clock }
    }

    /// The prices of models.
    pub const fn prices(&self) -> &Prices {
        &self.prices
    }

    /// Usage, summed by `group`; see [`UsageRepository::list_usage`].
    pub async fn list(
        &self,
        scope: WorkScope,
        filter: UsageFilter,
        group: UsageGroup,
        page: PageRequest,
    ) -> Result<UsageList, ListWorkError> {
        let UsageFilter { since, until, agent, chat, root } = filter;
        let last = until.unwrap_or_else(|| Day::of(self.clock.now()));
        let since = since.unwrap_or_else(|| last.minus(DEFAULT_DAYS - 1));
        let until = until.unwrap_or(Day::LAST);
        let priced = self.prices.models.keys().cloned().collect();
        let search = UsageSearch { scope, since, until, agent, chat, root, priced };
        Ok(self.usage.list_usage(search, group, page).await??)
    }

    /// The usage of the part of a tree that is in the chat. Whether the caller may see it must be known.
    pub async fn of_tree(&self, chat: ChatId, root: MessageId) -> Result<UsageSum, StoreError> {
        self.usage.usage_of_tree(chat, root).await
    }
}
