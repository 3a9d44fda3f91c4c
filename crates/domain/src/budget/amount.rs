//! What an organization may use.

use crate::delivery::HeldBy;
use crate::usage::MAX_TOKENS;
use crate::words::words;

words! {
    /// What a budget limits, and what it counts.
    Budget {
        /// The texts of a tree.
        TreeMessages = "tree_messages",
        /// The tokens that are reported in a tree.
        TreeTokens = "tree_tokens",
        /// The texts in a room on a day.
        RoomMessages = "room_messages",
        /// The tokens that are reported in a room on a day.
        RoomTokens = "room_tokens",
        /// The texts that an agent sends on a day.
        AgentMessages = "agent_messages",
        /// The tokens that an agent reports on a day.
        AgentTokens = "agent_tokens",
        /// The texts that the agents and members of an organization send on a day.
        OrganizationMessages = "organization_messages",
        /// The tokens that the agents of an organization report on a day.
        OrganizationTokens = "organization_tokens",
    }
}

/// What has a budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BudgetScope {
    /// What follows from one message.
    Tree,
    /// A room on a day.
    Room,
    /// An agent on a day.
    Agent,
    /// An organization on a day.
    Organization,
}

impl Budget {
    /// The scope of the budget.
    pub const fn scope(self) -> BudgetScope {
        match self {
            Self::TreeMessages | Self::TreeTokens => BudgetScope::Tree,
            Self::RoomMessages | Self::RoomTokens => BudgetScope::Room,
            Self::AgentMessages | Self::AgentTokens => BudgetScope::Agent,
            Self::OrganizationMessages | Self::OrganizationTokens => BudgetScope::Organization,
        }
    }

    /// Returns whether it counts tokens; if not, texts.
    pub const fn counts_tokens(self) -> bool {
        matches!(self, Self::TreeTokens | Self::RoomTokens | Self::AgentTokens | Self::OrganizationTokens)
    }

    /// The hold of a delivery that is over it.
    pub const fn held_by(self) -> HeldBy {
        match self {
            Self::TreeMessages => HeldBy::TreeMessages,
            Self::TreeTokens => HeldBy::TreeTokens,
            Self::RoomMessages => HeldBy::RoomMessages,
            Self::RoomTokens => HeldBy::RoomTokens,
            Self::AgentMessages => HeldBy::AgentMessages,
            Self::AgentTokens => HeldBy::AgentTokens,
            Self::OrganizationMessages => HeldBy::OrganizationMessages,
            Self::OrganizationTokens => HeldBy::OrganizationTokens,
        }
    }
}

/// The amount of a budget: 1 to [`MAX_TOKENS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amount(u64);

impl Amount {
    /// The largest number.
    pub const MAX: u64 = MAX_TOKENS;

    /// The largest amount.
    pub const LARGEST: Self = Self(MAX_TOKENS);

    /// `None` if it is 0 or more than [`Self::MAX`].
    pub const fn new(number: u64) -> Option<Self> {
        if number == 0 || number > Self::MAX { None } else { Some(Self(number)) }
    }

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The use from which humans are warned while `bound` may be used: 80 % of the amount, and further up after a release.
    pub const fn warning(self, bound: u64) -> u64 {
        bound.saturating_sub(self.0 / 5)
    }
}

/// The budgets of an organization.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Budgets([Option<Amount>; Budget::ALL.len()]);

impl Budgets {
    /// The amount of a budget; `None` for no limit.
    pub fn get(&self, budget: Budget) -> Option<Amount> {
        self.iter().find(|(of, _)| *of == budget).and_then(|(_, amount)| amount)
    }

    /// Gives a budget this amount.
    pub fn set(&mut self, budget: Budget, amount: Option<Amount>) {
        for (of, stored) in Budget::ALL.into_iter().zip(&mut self.0) {
            if of == budget {
                *stored = amount;
            }
        }
    }

    /// All of them, in the order of [`Budget::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Budget, Option<Amount>)> {
        Budget::ALL.into_iter().zip(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_budget_is_that_of_its_hold() {
        for budget in Budget::ALL {
            assert_eq!(budget.as_str(), budget.held_by().as_str());
            assert_eq!(budget.counts_tokens(), budget.as_str().ends_with("_tokens"));
        }
    }

    #[test]
    fn an_amount_is_more_than_nothing() {
        for (number, is_possible) in [(0, false), (1, true), (MAX_TOKENS, true), (MAX_TOKENS + 1, false)] {
            assert_eq!(
                Amount::new(number).map(Amount::get),
                Some(number).filter(|_| is_possible),
                "{number}"
            );
        }
        let mut budgets = Budgets::default();
        budgets.set(Budget::RoomTokens, Amount::new(5));
        assert_eq!(budgets.get(Budget::RoomTokens), Amount::new(5));
        assert_eq!(budgets.iter().filter(|(_, amount)| amount.is_some()).count(), 1);
    }
}
