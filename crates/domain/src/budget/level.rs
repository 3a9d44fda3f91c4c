//! How much of a budget is used up. Pure; the stores call this on locked rows.

use super::amount::{Amount, Budget, BudgetScope};
use crate::id::{ChatId, MessageId, OrganizationId, SubjectId};
use crate::time::Timestamp;
use crate::usage::Day;

/// What has a budget, and how much of it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BudgetUse {
    /// The root of the tree, the room, the agent, or the organization.
    pub subject: SubjectId,
    /// The budget.
    pub budget: Budget,
    /// The organization whose budget it is.
    pub organization: OrganizationId,
    /// The day; [`BudgetUse::ALWAYS`] for a tree.
    pub day: Day,
    /// The message that was counted last in a room of the organization, with the room: what is told of the budget is
    /// told there, and nowhere else.
    pub last: Option<(MessageId, ChatId)>,
    /// The amount, as it was when the use was counted.
    pub amount: Amount,
    /// What is used; 0 until the store has counted it.
    pub used: u64,
}

impl BudgetUse {
    /// The number of days without a text or a report after which a tree is forgotten: its budget begins again.
    pub const TREE_DAYS: i64 = 30;

    /// Stands for the day of trees, whose budgets do not begin again.
    pub const ALWAYS: Day = Day::new(0);

    /// The day for which a budget counts on `day`.
    pub const fn day_of(budget: Budget, day: Day) -> Day {
        match budget.scope() {
            BudgetScope::Tree => Self::ALWAYS,
            BudgetScope::Room | BudgetScope::Agent | BudgetScope::Organization => day,
        }
    }

    /// Returns whether so much of the amount is used that a level is stored.
    pub fn is_near(&self) -> bool {
        self.used >= self.amount.warning(self.amount.get())
    }
}

/// What is stored of a budget that is nearly used up, or exceeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BudgetLevel {
    /// The day, as in [`BudgetUse::day`].
    pub day: Day,
    /// What is used.
    pub used: u64,
    /// What may be used after a release, on this day.
    pub allowed: Option<u64>,
    /// The time at which it was nearly used up.
    pub warned_at: Option<Timestamp>,
    /// The time since which deliveries are held.
    pub exceeded_at: Option<Timestamp>,
    /// The time at which the humans were told.
    pub noticed_at: Option<Timestamp>,
}

impl BudgetLevel {
    /// The level of a budget of which nothing is stored.
    pub const fn new(day: Day) -> Self {
        Self { day, used: 0, allowed: None, warned_at: None, exceeded_at: None, noticed_at: None }
    }

    /// The level after the use was counted. Another process may have counted more since: on a day, the use only grows.
    /// The humans are told of each level once, and only of the higher one if both are reached at once.
    #[must_use]
    pub fn after(self, found: &BudgetUse, now: Timestamp) -> Self {
        let mut level = if self.day == found.day { self } else { Self::new(found.day) };
        level.used = level.used.max(found.used);
        let before = (level.warned_at.is_some(), level.exceeded_at.is_some());
        let bound = found.amount.get().max(level.allowed.unwrap_or(0));
        if level.used >= bound {
            level.exceeded_at.get_or_insert(now);
        } else {
            level.exceeded_at = None;
        }
        if level.used >= found.amount.warning(bound) {
            level.warned_at.get_or_insert(now);
        }
        let (warned, exceeded) = (level.warned_at.is_some(), level.exceeded_at.is_some());
        if warned && !before.0 || exceeded && !before.1 {
            level.noticed_at = None;
        }
        level
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn used(day: i64, amount: u64, used: u64) -> BudgetUse {
        let id = Uuid::from_u128(1);
        BudgetUse {
            subject: SubjectId::new(id),
            budget: Budget::RoomMessages,
            organization: OrganizationId::new(id),
            day: Day::new(day),
            last: Some((MessageId::new(id), ChatId::new(id))),
            amount: Amount::new(amount).unwrap(),
            used,
        }
    }

    #[test]
    fn humans_are_told_at_80_and_at_100_percent() {
        let begin = BudgetLevel::new(Day::new(7));
        for (number, warned, exceeded) in
            [(0, false, false), (7, false, false), (8, true, false), (9, true, false), (10, true, true)]
        {
            let level = begin.after(&used(7, 10, number), at(1));
            assert_eq!(
                (level.warned_at, level.exceeded_at),
                (warned.then_some(at(1)), exceeded.then_some(at(1))),
                "{number}"
            );
            assert_eq!(used(7, 10, number).is_near(), warned, "{number}");
        }
        let told = BudgetLevel { noticed_at: Some(at(2)), ..begin.after(&used(7, 10, 8), at(1)) };
        assert_eq!(told.after(&used(7, 10, 9), at(3)), BudgetLevel { used: 9, ..told }, "once");
        let over = told.after(&used(7, 10, 12), at(3));
        assert_eq!((over.exceeded_at, over.noticed_at), (Some(at(3)), None));
        let over = BudgetLevel { noticed_at: Some(at(4)), ..over };
        assert_eq!(over.after(&used(7, 10, 13), at(5)), BudgetLevel { used: 13, ..over }, "once");
        assert_eq!(over.after(&used(7, 10, 9), at(5)), over, "an older count");
    }

    #[test]
    fn a_release_a_raise_and_a_new_day_end_it() {
        let over = BudgetLevel::new(Day::new(7)).after(&used(7, 10, 12), at(1));
        let raised = over.after(&used(7, 20, 12), at(2));
        assert_eq!((raised.exceeded_at, raised.warned_at), (None, Some(at(1))));
        let released = BudgetLevel { allowed: Some(22), warned_at: None, exceeded_at: None, ..over };
        assert_eq!(released.after(&used(7, 10, 19), at(2)).warned_at, None, "70 % of what is allowed again");
        let near = released.after(&used(7, 10, 21), at(2));
        assert_eq!((near.warned_at, near.exceeded_at), (Some(at(2)), None));
        assert_eq!(released.after(&used(7, 10, 22), at(2)).exceeded_at, Some(at(2)));
        let tomorrow = released.after(&used(8, 10, 3), at(3));
        assert_eq!(tomorrow, BudgetLevel { used: 3, ..BudgetLevel::new(Day::new(8)) });
    }
}
