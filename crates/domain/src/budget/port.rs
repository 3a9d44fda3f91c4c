//! The store of budgets.

use std::collections::HashMap;

use async_trait::async_trait;

use super::amount::{Amount, Budget, Budgets};
use super::exceeded::ExceededBudgets;
use super::level::BudgetUse;
use crate::id::{ChatId, MessageId, OrganizationId, ParticipantId};
use crate::organization::{Authority, NotAdmin};
use crate::store::StoreError;
use crate::time::Timestamp;
use crate::usage::Day;

/// New amounts for budgets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetBudgets {
    /// The authority, which names the organization.
    pub by: Authority,
    /// The new amounts; `None` for no limit. Each budget at most once.
    pub changes: Vec<(Budget, Option<Amount>)>,
    /// The current time.
    pub now: Timestamp,
}

/// Whose budgets count.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BudgetTenants {
    /// The organizations of rooms.
    pub rooms: HashMap<ChatId, OrganizationId>,
    /// Those of users, and of the owners of agents.
    pub senders: HashMap<ParticipantId, OrganizationId>,
    /// The budgets of these organizations, of those that have any.
    pub budgets: HashMap<OrganizationId, Budgets>,
}

/// Texts to be counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextCount {
    /// The day.
    pub day: Day,
    /// The organization of the sender.
    pub organization: OrganizationId,
    /// The sender.
    pub sender: ParticipantId,
    /// The room.
    pub chat: ChatId,
    /// Their number.
    pub texts: u32,
}

/// Texts of a tree to be counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeCount {
    /// Its root.
    pub root: MessageId,
    /// The day.
    pub day: Day,
    /// Their number; 0 if only tokens were reported.
    pub texts: u32,
}

/// What is added to the stored counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NewCounts {
    /// The texts of senders in rooms.
    pub texts: Vec<TextCount>,
    /// Those of trees.
    pub trees: Vec<TreeCount>,
}

impl NewCounts {
    /// Returns whether nothing is to be counted.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.trees.is_empty()
    }
}

/// Budgets, and how much of them is used.
#[async_trait]
pub trait BudgetRepository: Send + Sync {
    /// The budgets of an organization.
    async fn budgets_of(&self, organization: OrganizationId) -> Result<Budgets, StoreError>;

    /// Changes budgets. A larger amount, or none, ends holds of new deliveries that it allows; what is held stays so.
    async fn set_budgets(&self, command: SetBudgets) -> Result<Result<Budgets, NotAdmin>, StoreError>;

    /// The organizations of these rooms and senders, and their budgets.
    async fn budget_tenants(
        &self,
        rooms: Vec<ChatId>,
        senders: Vec<ParticipantId>,
    ) -> Result<BudgetTenants, StoreError>;

    /// Adds texts to the counts. Removes some counts and levels of days before `since`, and of trees for which nothing
    /// was counted for [`BudgetUse::TREE_DAYS`] before that. If the commit is in doubt, the texts may be lost, but they
    /// are not counted twice.
    async fn add_texts(&self, counts: NewCounts, since: Day) -> Result<(), StoreError>;

    /// Counts what is used of budgets: [`BudgetUse::used`].
    ///
    /// Tokens are the sums of [`UsageRepository`](crate::usage::UsageRepository), of all kinds. Texts are those of
    /// [`add_texts`](Self::add_texts), and the root of a tree.
    async fn count_budgets(&self, found: Vec<BudgetUse>) -> Result<Vec<BudgetUse>, StoreError>;

    /// Stores levels as [`BudgetLevel::after`](super::BudgetLevel::after) decides on what is stored. The amounts are the
    /// stored ones: nothing is stored of a budget that was removed meanwhile.
    async fn record_budgets(&self, found: Vec<BudgetUse>, now: Timestamp) -> Result<(), StoreError>;

    /// The budgets that hold deliveries on this day, at most [`ExceededBudgets::MOST`] of each organization; `None` if no
    /// organization has budgets.
    async fn exceeded_budgets(&self, day: Day) -> Result<Option<ExceededBudgets>, StoreError>;
}
