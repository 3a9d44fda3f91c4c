//! The store of usage.

use async_trait::async_trait;

use super::counts::{MAX_TOKENS, TokenCounts};
use super::day::Day;
use crate::id::{AgentId, ChatId, MessageId, RecordId};
use crate::organization::NotAdmin;
use crate::page::{Page, PageRequest, Position};
use crate::store::StoreError;
use crate::words::words;
use crate::work::WorkScope;

words! {
    /// What is summed to one row.
    #[derive(Default)]
    UsageGroup {
        /// What follows from one message.
        Tree = "tree",
        /// A chat.
        Room = "room",
        /// An agent.
        #[default]
        Agent = "agent",
        /// The owner of agents.
        Owner = "owner",
        /// The organization to which the owner belonged.
        Organization = "organization",
        /// A day in UTC.
        Day = "day",
        /// A model.
        Model = "model",
    }
}

/// The requested reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsageSearch {
    /// Whose agents: those that belonged to the user or the organization when they reported. Agents that were deleted
    /// since count.
    pub scope: WorkScope,
    /// The first day.
    pub since: Day,
    /// The last day.
    pub until: Day,
    /// Only those of this agent.
    pub agent: Option<AgentId>,
    /// Only those in this chat.
    pub chat: Option<ChatId>,
    /// Only those in the tree that this message began.
    pub root: Option<MessageId>,
    /// The models that have a price: only they are summed apart.
    pub priced: Vec<String>,
}

/// A sum of reports.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UsageSum {
    /// The model if it has a price; `None` for the sum of all others, and of reports without a model.
    pub model: Option<String>,
    /// The tokens.
    pub tokens: TokenCounts,
    /// The number of reports.
    pub reports: u64,
}

/// What identifies a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UsageKey {
    /// A message that began a tree, a chat, an agent, a user, or an organization.
    Record(RecordId),
    /// A day.
    Day(Day),
    /// A model; `None` where neither the report nor the agent states one.
    Model(Option<String>),
}

/// A row of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsageRow {
    /// What it is about.
    pub key: UsageKey,
    /// The name of the agent, owner, or organization, also of a deleted agent or owner; the title of the room, or
    /// the beginning of the message, if the reader may see it. `None` for other keys, and for what the store does
    /// not hold any more.
    pub name: Option<String>,
    /// The handle of the agent or owner.
    pub handle: Option<String>,
    /// The chat of the message that began the tree, if the store holds it, and the reader could see the chat's title.
    pub chat: Option<ChatId>,
    /// Its sums, one for each model that has a price, and one for all others.
    pub sums: Vec<UsageSum>,
}

impl UsageRow {
    /// The tokens of all models.
    pub fn tokens(&self) -> TokenCounts {
        self.sums.iter().fold(TokenCounts::default(), |sum, of| sum.plus(of.tokens))
    }

    /// The number of reports of all models.
    pub fn reports(&self) -> u64 {
        self.sums.iter().fold(0_u64, |sum, of| sum.saturating_add(of.reports)).min(MAX_TOKENS)
    }

    /// Its position in a list: days by day, newest first; others by the sum of all their tokens, largest first, and
    /// then by their key.
    pub fn position(&self) -> Position {
        let key = self.tokens().total().cast_signed();
        match &self.key {
            UsageKey::Record(id) => Position::at(key, *id),
            UsageKey::Day(day) => Position::at(day.number(), RecordId::NIL),
            UsageKey::Model(model) => {
                Position { key, text: model.clone().unwrap_or_default(), id: RecordId::NIL }
            }
        }
    }
}

/// A page of a list, and on the first page the sums of the whole list.
#[derive(Clone, PartialEq, Debug)]
pub struct UsageList {
    /// The rows.
    pub page: Page<UsageRow>,
    /// The sums of all rows of all pages, by model like those of a row; `None` on later pages.
    pub sums: Option<Vec<UsageSum>>,
}

/// Sums of reported usage.
///
/// They are written by [`MessageRepository::append`](crate::message::MessageRepository::append), in the change that
/// stores the event with the report ([`UsageReport::of`](super::UsageReport::of)): by the day of the event, the agent
/// with its owner and their organization at the time, the chat, the root of the event, and the model, which is that of
/// the report, or else that of the agent. No sum exceeds [`MAX_TOKENS`]. Nothing deletes them.
#[async_trait]
pub trait UsageRepository: Send + Sync {
    /// The reports, summed by `group`, in the order of [`UsageRow::position`]; pages are by cursor only and not
    /// counted. Refused without the [`Authority`](crate::organization::Authority) of the scope.
    ///
    /// The cost grows with the number of sums that match, which is at most that of the reports.
    async fn list_usage(
        &self,
        search: UsageSearch,
        group: UsageGroup,
        page: PageRequest,
    ) -> Result<Result<UsageList, NotAdmin>, StoreError>;

    /// The sum of the part of a tree that is in the chat, of all models together: `model` is `None`.
    async fn usage_of_tree(&self, chat: ChatId, root: MessageId) -> Result<UsageSum, StoreError>;
}
