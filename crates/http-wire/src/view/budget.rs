//! Budgets of organizations.

use domain::budget::{Amount, Budget, ShownBudgets};
use serde::Serialize;

/// What an organization has used today, in UTC.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
struct UsedView {
    /// The texts of its agents and members. They are counted only while the organization has budgets.
    messages: u64,
    /// The tokens that its agents have reported.
    tokens: u64,
}

/// The budgets of the caller's organization. Null means no limit.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct BudgetsView {
    /// Texts that follow from one message.
    tree_messages: Option<u64>,
    /// Tokens that agents report for what follows from one message.
    tree_tokens: Option<u64>,
    /// Texts in a room on a day.
    room_messages: Option<u64>,
    /// Tokens that agents report in a room on a day.
    room_tokens: Option<u64>,
    /// Texts that an agent sends on a day.
    agent_messages: Option<u64>,
    /// Tokens that an agent reports on a day.
    agent_tokens: Option<u64>,
    /// Texts that all agents and members send on a day.
    organization_messages: Option<u64>,
    /// Tokens that all agents report on a day.
    organization_tokens: Option<u64>,
    used_today: UsedView,
}

impl BudgetsView {
    /// Shows `shown`.
    pub fn new(shown: &ShownBudgets) -> Self {
        let of = |budget| shown.budgets.get(budget).map(Amount::get);
        Self {
            tree_messages: of(Budget::TreeMessages),
            tree_tokens: of(Budget::TreeTokens),
            room_messages: of(Budget::RoomMessages),
            room_tokens: of(Budget::RoomTokens),
            agent_messages: of(Budget::AgentMessages),
            agent_tokens: of(Budget::AgentTokens),
            organization_messages: of(Budget::OrganizationMessages),
            organization_tokens: of(Budget::OrganizationTokens),
            used_today: UsedView { messages: shown.messages, tokens: shown.tokens },
        }
    }
}
