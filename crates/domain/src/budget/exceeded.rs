//! The exceeded budgets, as a process knows them. Pure.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::amount::{Budget, BudgetScope};
use crate::delivery::Delivery;
use crate::id::{AgentId, ChatId, MessageId, OrganizationId, SubjectId};
use crate::message::{Appended, Cause, DueHold, Mention, Message, NewMessage};
use crate::usage::Day;

/// The budgets that hold deliveries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExceededBudgets {
    /// The day of those that are not of trees.
    pub day: Day,
    /// Those of trees, by their roots.
    pub trees: HashMap<MessageId, Budget>,
    /// The organizations of the rooms of these trees.
    pub with_trees: HashSet<OrganizationId>,
    /// Those of rooms.
    pub rooms: HashMap<ChatId, Budget>,
    /// Those of agents.
    pub agents: HashMap<AgentId, Budget>,
    /// Those of organizations.
    pub organizations: HashMap<OrganizationId, Budget>,
}

impl ExceededBudgets {
    /// The maximum number for each organization that a store returns: its own budgets first, then the newest.
    pub const MOST: u32 = 10_000;

    /// None of them.
    pub fn none(day: Day) -> Self {
        Self {
            day,
            trees: HashMap::new(),
            with_trees: HashSet::new(),
            rooms: HashMap::new(),
            agents: HashMap::new(),
            organizations: HashMap::new(),
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.trees.len() + self.rooms.len() + self.agents.len() + self.organizations.len()
    }

    /// Adds the budget of an organization for a subject.
    pub fn add(&mut self, budget: Budget, subject: SubjectId, organization: OrganizationId) {
        let id = subject.uuid();
        match budget.scope() {
            BudgetScope::Tree => {
                self.trees.insert(MessageId::new(id), budget);
                self.with_trees.insert(organization);
            }
            BudgetScope::Room => drop(self.rooms.insert(ChatId::new(id), budget)),
            BudgetScope::Agent => drop(self.agents.insert(AgentId::new(id), budget)),
            BudgetScope::Organization => drop(self.organizations.insert(organization, budget)),
        }
    }

    /// The budget that holds the delivery of a new message to this agent of the organization `own`, which is only needed
    /// while there are [`Self::organizations`]. The cause of the message must be known.
    pub fn holds(&self, message: &Message, agent: AgentId, own: Option<OrganizationId>) -> Option<Budget> {
        let of_own = || self.organizations.get(&own?);
        let of_today =
            || self.rooms.get(&message.chat_id).or_else(|| self.agents.get(&agent)).or_else(of_own);
        let is_today = Day::of(message.created_at) == self.day;
        let found = self.trees.get(&message.place().root).or_else(|| of_today().filter(|_| is_today));
        found.copied()
    }

    /// Returns whether a delivery of this message may be held, whatever its cause is, by a budget that is not of the
    /// agent's organization. `of_chat` is the organization of the chat.
    fn may_hold(&self, new: &NewMessage, of_chat: Option<OrganizationId>) -> bool {
        let in_tree = match new.cause {
            Cause::Known(place) => self.trees.contains_key(&place.root),
            Cause::None | Cause::Ambiguous { .. } => {
                new.counts_attempts() && of_chat.is_some_and(|of_chat| self.with_trees.contains(&of_chat))
            }
        };
        let mut addressed = new.mentions.iter().filter_map(Mention::addressed_agent).peekable();
        addressed.peek().is_some()
            && (in_tree
                || self.rooms.contains_key(&new.chat)
                || addressed.any(|agent| self.agents.contains_key(&agent)))
    }
}

impl Appended {
    /// Holds those of its deliveries that are over a budget. Pure; the stores call this when its cause is known, after
    /// the limits of the loop guard. `own` are the organizations of the agents, of those that have an exceeded budget.
    pub fn hold_over_budget(&mut self, own: &HashMap<AgentId, OrganizationId>) {
        let Some(exceeded) = self.exceeded.take() else { return };
        let held = |delivery: &Delivery| {
            let agent = delivery.agent();
            Some((agent, exceeded.holds(&self.message, agent, own.get(&agent).copied())?.held_by()))
        };
        let held = self.message.deliveries.iter().filter_map(held).collect::<HashMap<_, _>>();
        if !held.is_empty() {
            self.hold(|agent| held.get(&agent).copied());
        }
    }
}

impl NewMessage {
    /// Returns whether a delivery of it may be over a budget that is not of the agent's organization. `of_chat` is the
    /// organization of its chat.
    pub fn may_be_over_budget(&self, of_chat: Option<OrganizationId>) -> bool {
        self.exceeded.as_ref().is_some_and(|exceeded| exceeded.may_hold(self, of_chat))
    }
}

impl DueHold {
    /// The event about a budget whose last counted message is this one: its text and its metadata.
    pub(crate) fn about_budget(&self, budget: Budget, message: &Message) -> (String, Value) {
        let what = match budget.scope() {
            BudgetScope::Tree => "what follows from one message",
            BudgetScope::Room => "this room today",
            BudgetScope::Agent => "an agent today",
            BudgetScope::Organization => "an organization today",
        };
        let (amount, unit) = (self.bound, if budget.counts_tokens() { "tokens" } else { "messages" });
        let handle = match budget.scope() {
            BudgetScope::Tree | BudgetScope::Room => None,
            BudgetScope::Agent | BudgetScope::Organization => message.sender_handle.as_deref(),
        };
        let last = handle.map(|handle| format!(", last by @{handle}")).unwrap_or_default();
        let to = match budget.scope() {
            BudgetScope::Tree => "What is sent there is stored, but delivered to no agent",
            BudgetScope::Room => "Messages in this room are stored, but delivered to no agent",
            BudgetScope::Agent => "Messages to the agent are stored, but not delivered",
            BudgetScope::Organization => "Messages to its agents are stored, but not delivered",
        };
        let who = match budget.scope() {
            BudgetScope::Tree | BudgetScope::Room => "the owner of an addressed agent or an admin",
            BudgetScope::Agent => "its owner or an admin",
            BudgetScope::Organization => "an admin",
        };
        let content = if self.is_warning {
            format!("At least 80 % of the budget of {amount} {unit} for {what} is used{last}.")
        } else {
            format!(
                "The budget of {amount} {unit} for {what} is used up{last}. {to} until {who} retries one of them."
            )
        };
        let mut metadata = json!({
            "kind": if self.is_warning { "review" } else { "failure" },
            "blocking": !self.is_warning,
            "message_id": message.id.to_string(),
            "root_id": message.place().root.to_string(),
            "budget": budget.as_str(),
            "amount": amount,
        });
        if !self.is_warning {
            metadata["held_by"] = budget.as_str().into();
        }
        (content, metadata)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use uuid::Uuid;

    use super::*;
    use crate::delivery::HeldBy;
    use crate::foreign::ForeignPolicy;
    use crate::message::sample;
    use crate::time::Timestamp;

    const DAY: i64 = 24 * 60 * 60 * 1_000_000;

    fn agent(number: u128) -> AgentId {
        AgentId::new(Uuid::from_u128(number))
    }

    /// A message of the second day to two agents.
    fn message() -> Message {
        let created_at = Timestamp::from_micros(DAY + 5);
        let deliveries = [4, 5].map(|number| Delivery::new(agent(number))).into();
        Message { created_at, updated_at: created_at, deliveries, ..sample::text("hello") }
    }

    #[test]
    fn only_deliveries_over_a_budget_are_held() {
        let message = message();
        let mut exceeded = ExceededBudgets::none(Day::of(message.created_at));
        let holds = |exceeded: &ExceededBudgets| {
            let own = |of: u128| Some(OrganizationId::new(Uuid::from_u128(of + 10)));
            [4, 5].map(|of| exceeded.holds(&message, agent(of), own(of)))
        };
        assert_eq!(holds(&exceeded), [None, None]);
        let own = OrganizationId::new(Uuid::from_u128(14));
        exceeded.add(Budget::OrganizationTokens, own.into(), own);
        assert_eq!(holds(&exceeded), [Some(Budget::OrganizationTokens), None]);
        exceeded.rooms.insert(message.chat_id, Budget::RoomMessages);
        assert_eq!(holds(&exceeded), [Some(Budget::RoomMessages); 2]);
        exceeded.day = exceeded.day.minus(1);
        assert_eq!(holds(&exceeded), [None, None], "a new day");
        exceeded.trees.insert(message.id, Budget::TreeTokens);
        assert_eq!(holds(&exceeded), [Some(Budget::TreeTokens); 2], "a tree has no day");
        let recipients = vec![agent(4), agent(5)];
        let mut exceeded = ExceededBudgets::none(Day::of(message.created_at));
        exceeded.agents.insert(agent(5), Budget::AgentMessages);
        let exceeded = Some(Arc::new(exceeded));
        let (stopped, paused, foreign, titled) = (Vec::new(), Vec::new(), ForeignPolicy::default(), None);
        let (is_paused, hop_limit) = (false, None);
        let mut appended = Appended {
            message,
            recipients,
            stopped,
            paused,
            is_paused,
            foreign,
            hop_limit,
            exceeded,
            counts_attempts: false,
            titled,
        };
        appended.hold_over_budget(&HashMap::new());
        let held_by = appended.message.deliveries.iter().map(Delivery::held_by).collect::<Vec<_>>();
        assert_eq!(held_by, [None, Some(HeldBy::AgentMessages)]);
        assert_eq!(appended.recipients, [agent(4)]);
    }
}
