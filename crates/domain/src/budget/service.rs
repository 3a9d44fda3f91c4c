//! Use cases on budgets.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::amount::{Amount, Budget, BudgetScope, Budgets};
use super::level::BudgetUse;
use super::port::{BudgetRepository, BudgetTenants, NewCounts, SetBudgets, TextCount, TreeCount};
use super::watch::{BudgetWatch, Spent};
use crate::id::{OrganizationId, SubjectId};
use crate::organization::{Authority, NotAdmin};
use crate::ports::Clock;
use crate::store::StoreError;
use crate::time::Timestamp;
use crate::usage::Day;

/// The budgets of an organization, and what it has used today.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShownBudgets {
    /// The amounts.
    pub budgets: Budgets,
    /// The texts of its agents and members that were counted today: none while it has no budgets.
    pub messages: u64,
    /// The tokens that its agents have reported today.
    pub tokens: u64,
}

/// The reason why budgets were not changed.
#[derive(Debug, thiserror::Error)]
pub enum SetBudgetsError {
    /// Only an admin may do this.
    #[error(transparent)]
    NotAdmin(#[from] NotAdmin),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Use cases on budgets.
pub struct BudgetService {
    budgets: Arc<dyn BudgetRepository>,
    watch: Arc<BudgetWatch>,
    clock: Arc<dyn Clock>,
}

impl BudgetService {
    /// Wires the area to its ports; `watch` notes what is stored.
    pub fn new(budgets: Arc<dyn BudgetRepository>, watch: Arc<BudgetWatch>, clock: Arc<dyn Clock>) -> Self {
        Self { budgets, watch, clock }
    }

    /// What notes the stored messages.
    pub fn watch(&self) -> &BudgetWatch {
        &self.watch
    }

    /// The budgets of an organization; every member may read them.
    pub async fn show(&self, organization: OrganizationId) -> Result<ShownBudgets, StoreError> {
        let budgets = self.budgets.budgets_of(organization).await?;
        let day = Day::of(self.clock.now());
        let of = |budget| BudgetUse {
            subject: organization.into(),
            budget,
            organization,
            day,
            last: None,
            amount: Amount::LARGEST,
            used: 0,
        };
        let both = vec![of(Budget::OrganizationMessages), of(Budget::OrganizationTokens)];
        let used = self.budgets.count_budgets(both).await?;
        let used = |budget| used.iter().find(|of| of.budget == budget).map_or(0, |of| of.used);
        let (messages, tokens) = (used(Budget::OrganizationMessages), used(Budget::OrganizationTokens));
        Ok(ShownBudgets { budgets, messages, tokens })
    }

    /// Changes budgets, which apply within about a second.
    pub async fn set(
        &self,
        by: Authority,
        changes: Vec<(Budget, Option<Amount>)>,
    ) -> Result<Budgets, SetBudgetsError> {
        Ok(self.budgets.set_budgets(SetBudgets { by, changes, now: self.clock.now() }).await??)
    }

    /// Counts what this process has stored since the last check, and loads the exceeded budgets, even if it could not
    /// count. Every process does so about once a second.
    pub async fn check(&self) -> Result<(), StoreError> {
        let spent = self.watch.take();
        let counted = if spent.is_empty() { Ok(()) } else { self.count(spent).await };
        let exceeded = self.budgets.exceeded_budgets(Day::of(self.clock.now())).await?;
        self.watch.update(exceeded);
        counted
    }

    async fn count(&self, spent: Vec<Spent>) -> Result<(), StoreError> {
        let now = self.clock.now();
        let rooms = spent.iter().map(|spent| spent.chat).collect::<BTreeSet<_>>();
        let senders = spent.iter().map(|spent| spent.sender).collect::<BTreeSet<_>>();
        let tenants = async {
            let (rooms, senders) = (rooms.into_iter().collect(), senders.into_iter().collect());
            let tenants = self.budgets.budget_tenants(rooms, senders).await?;
            let counts = NewCounts { texts: texts(&spent, &tenants), trees: trees(&spent, &tenants) };
            if !counts.is_empty() {
                // The clock of another server may be behind.
                self.budgets.add_texts(counts, Day::of(now).minus(1)).await?;
            }
            Ok(tenants)
        };
        let tenants = match tenants.await {
            Ok(tenants) => tenants,
            Err(error) => {
                self.watch.put_back(spent);
                return Err(error);
            }
        };
        let mut counted = Ok(());
        // Each organization on its own, so that a failure of one does not keep the others from being counted.
        for of_one in wanted(&spent, &tenants).chunk_by(|one, next| one.organization == next.organization) {
            counted = self.count_chunk(of_one.to_vec(), now).await.and(counted);
        }
        counted
    }

    async fn count_chunk(&self, wanted: Vec<BudgetUse>, now: Timestamp) -> Result<(), StoreError> {
        let mut found = self.budgets.count_budgets(wanted).await?;
        found.retain(BudgetUse::is_near);
        if found.is_empty() { Ok(()) } else { self.budgets.record_budgets(found, now).await }
    }
}

/// The texts that are counted: those of senders and in rooms of organizations with budgets.
fn texts(spent: &[Spent], tenants: &BudgetTenants) -> Vec<TextCount> {
    let has_budgets = |organization| tenants.budgets.contains_key(organization);
    let mut counts = HashMap::new();
    for Spent { day, chat, sender, texts, .. } in spent.iter().copied().filter(|spent| spent.texts > 0) {
        let Some(organization) = tenants.senders.get(&sender) else { continue };
        if has_budgets(organization) || tenants.rooms.get(&chat).is_some_and(has_budgets) {
            let count = counts.entry((day, *organization, sender, chat)).or_insert(0_u32);
            *count = count.saturating_add(texts);
        }
    }
    let count =
        |((day, organization, sender, chat), texts)| TextCount { day, organization, sender, chat, texts };
    counts.into_iter().map(count).collect()
}

/// What is counted of trees: those in rooms of organizations that have budgets of trees.
fn trees(spent: &[Spent], tenants: &BudgetTenants) -> Vec<TreeCount> {
    let mut counts = BTreeMap::new();
    for spent in spent {
        let budgets = tenants.rooms.get(&spent.chat).and_then(|of| tenants.budgets.get(of));
        let of_tree = |budget: Budget| budget.scope() == BudgetScope::Tree;
        let is_counted = budgets.is_some_and(|budgets| {
            budgets.iter().any(|(budget, amount)| of_tree(budget) && amount.is_some())
        });
        if let (Some(root), true) = (spent.root, is_counted) {
            let count = counts.entry(root).or_insert(TreeCount { root, day: spent.day, texts: 0 });
            count.day = count.day.max(spent.day);
            count.texts = count.texts.saturating_add(spent.texts);
        }
    }
    counts.into_values().collect()
}

/// The budgets that this counts for, each once.
fn wanted(spent: &[Spent], tenants: &BudgetTenants) -> Vec<BudgetUse> {
    let mut wanted = HashMap::new();
    for spent in spent {
        let of_room = tenants.rooms.get(&spent.chat);
        let of_sender = tenants.senders.get(&spent.sender);
        for budget in Budget::ALL {
            let is_counted = if budget.counts_tokens() { spent.has_tokens } else { spent.texts > 0 };
            let (subject, organization) = match budget.scope() {
                BudgetScope::Tree => (spent.root.map(SubjectId::from), of_room),
                BudgetScope::Room => (Some(spent.chat.into()), of_room),
                BudgetScope::Agent => (spent.sender.agent().map(SubjectId::from), of_sender),
                BudgetScope::Organization => (of_sender.map(|id| (*id).into()), of_sender),
            };
            let (Some(subject), Some(organization), true) = (subject, organization, is_counted) else {
                continue;
            };
            let amount = tenants.budgets.get(organization).and_then(|budgets| budgets.get(budget));
            let Some(amount) = amount else { continue };
            let day = BudgetUse::day_of(budget, spent.day);
            let last = Some((spent.message, spent.chat)).filter(|_| of_room == Some(organization));
            let organization = *organization;
            let new = BudgetUse { subject, budget, organization, day, last, amount, used: 0 };
            let kept = wanted.entry((subject, budget, day)).or_insert(new);
            kept.last = kept.last.max(last);
        }
    }
    let mut wanted = wanted.into_values().collect::<Vec<_>>();
    // Several processes lock the rows in the same order, and the newest day comes last.
    wanted.sort_unstable_by_key(|of| (of.organization, of.subject, of.budget.as_str(), of.day));
    wanted
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::id::{AgentId, ChatId, MessageId, ParticipantId};

    const DAY: Day = Day::new(9);

    /// An agent of organization 2 in a room of organization 1: a text, and a report.
    #[test]
    fn rooms_and_senders_have_budgets_of_their_own() {
        let organization = |number| OrganizationId::new(Uuid::from_u128(number));
        let (chat, agent) = (ChatId::new(Uuid::from_u128(10)), AgentId::new(Uuid::from_u128(11)));
        let (root, message) = (MessageId::new(Uuid::from_u128(12)), MessageId::new(Uuid::from_u128(13)));
        let sender = ParticipantId::Agent(agent);
        let spent = Spent { day: DAY, chat, sender, root: Some(root), texts: 2, has_tokens: false, message };
        let mut all = Budgets::default();
        for budget in Budget::ALL {
            all.set(budget, Amount::new(5));
        }
        let tenants = |of: &[u128]| BudgetTenants {
            rooms: [(chat, organization(1))].into(),
            senders: [(sender, organization(2))].into(),
            budgets: of.iter().map(|number| (organization(*number), all)).collect(),
        };
        let found = |spent: Spent, of: &[u128]| {
            let found = wanted(&[spent], &tenants(of));
            let mut found =
                found.iter().map(|of| (of.budget.as_str(), of.subject, of.day)).collect::<Vec<_>>();
            found.sort_unstable();
            found
        };
        let (of_tree, of_room) =
            (("tree_messages", root.into(), BudgetUse::ALWAYS), ("room_messages", chat.into(), DAY));
        assert_eq!(found(spent, &[1]), [of_room, of_tree]);
        let of_agent = ("agent_messages", agent.into(), DAY);
        let of_organization = ("organization_messages", organization(2).into(), DAY);
        assert_eq!(found(spent, &[2]), [of_agent, of_organization]);
        assert_eq!(found(spent, &[1, 2]).len(), 4);
        for of in wanted(&[spent], &tenants(&[1, 2])) {
            let own = Some((message, chat)).filter(|_| of.organization == organization(1));
            assert_eq!(of.last, own, "{of:?}");
        }
        assert_eq!(found(spent, &[3]), []);
        let report = Spent { texts: 0, has_tokens: true, ..spent };
        assert_eq!(found(report, &[2])[0].0, "agent_tokens");

        let count = TextCount { day: DAY, organization: organization(2), sender, chat, texts: 2 };
        for (of, counted) in [(&[1][..], true), (&[2], true), (&[3], false)] {
            assert_eq!(texts(&[spent], &tenants(of)), Vec::from_iter(counted.then_some(count)), "{of:?}");
        }
        assert_eq!(texts(&[report], &tenants(&[1])), []);
        let tomorrow = Spent { day: Day::new(10), ..report };
        let of_tree = TreeCount { root, day: tomorrow.day, texts: 2 };
        assert_eq!(trees(&[tomorrow, spent], &tenants(&[1])), [of_tree]);
        assert_eq!(trees(&[spent], &tenants(&[2])), [], "the tree is of the room");
        assert_eq!(trees(&[Spent { root: None, ..spent }], &tenants(&[1])), []);
    }
}
