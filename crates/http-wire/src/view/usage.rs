//! Usage: the tokens that agents report.

use domain::id::ChatId;
use domain::usage::{Money, Prices, TokenCounts, UsageGroup, UsageKey, UsageList, UsageRow, UsageSum};
use serde::Serialize;

use super::Shown;
use crate::page::PageMetadata;

/// Sums of reported tokens.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TokensView {
    /// As the providers count them: some include cached tokens. No number of tokens exceeds 2^53 - 1.
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    /// The number of reports: one for each turn of an agent.
    reports: u64,
}

impl TokensView {
    /// Shows these sums together.
    pub fn new(sums: &[UsageSum]) -> Self {
        let tokens = sums.iter().fold(TokenCounts::default(), |all, sum| all.plus(sum.tokens));
        Self {
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            cache_read_tokens: tokens.cache_read,
            cache_write_tokens: tokens.cache_write,
            reports: sums.iter().fold(0, |all, sum| all.saturating_add(sum.reports)),
        }
    }
}

/// Sums of reported tokens with their cost.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct UsageSumView {
    #[serde(flatten)]
    tokens: TokensView,
    /// What the tokens with a price cost, in `currency`, with six decimals. Null if none of them has a price.
    #[schema(value_type = Option<String>)]
    cost: Option<Shown<Money>>,
    /// The number of tokens that have no price, and are not part of `cost`.
    unpriced_tokens: u64,
}

impl UsageSumView {
    fn new(sums: &[UsageSum], prices: &Prices) -> Self {
        let cost = prices.cost(sums);
        Self {
            tokens: TokensView::new(sums),
            cost: cost.amount.map(Shown),
            unpriced_tokens: cost.unpriced_tokens,
        }
    }
}

/// The usage of one tree, room, agent, owner, organization, day, or model.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct UsageView<'a> {
    /// The id of the message that began the tree, of the room, the agent, the owner, or the organization; the day;
    /// or the name of the model. Null for reports without a model.
    id: Option<String>,
    /// The name of the agent, owner, or organization. The title of the room, or the first 200 characters of the
    /// message, if the caller may see it.
    name: Option<&'a str>,
    /// The handle of the agent or owner.
    handle: Option<&'a str>,
    /// The room of the message that began the tree, if the caller may see its title.
    #[schema(value_type = Option<super::Id>)]
    chat_room_id: Option<Shown<ChatId>>,
    #[serde(flatten)]
    sums: UsageSumView,
}

impl<'a> UsageView<'a> {
    /// Shows a row with its cost.
    pub fn new(row: &'a UsageRow, prices: &Prices) -> Self {
        let id = match &row.key {
            UsageKey::Record(id) => Some(id.uuid().to_string()),
            UsageKey::Day(day) => Some(day.to_string()),
            UsageKey::Model(model) => model.clone(),
        };
        Self {
            id,
            name: row.name.as_deref(),
            handle: row.handle.as_deref(),
            chat_room_id: row.chat.map(Shown),
            sums: UsageSumView::new(&row.sums, prices),
        }
    }
}

/// Metadata of a list of usage.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct UsageMetadata<'a> {
    #[serde(flatten)]
    page: PageMetadata,
    /// What each row is about.
    group_by: &'static str,
    /// The currency of every cost. Null if no model has a price.
    currency: Option<&'a str>,
    /// The sums of all rows of all pages. Null if a cursor is given.
    totals: Option<UsageSumView>,
}

impl<'a> UsageMetadata<'a> {
    /// The metadata of a page of a list.
    pub fn new(page: PageMetadata, list: &UsageList, group: UsageGroup, prices: &'a Prices) -> Self {
        let totals = list.sums.as_ref().map(|sums| UsageSumView::new(sums, prices));
        Self { page, group_by: group.as_str(), currency: prices.currency.as_deref(), totals }
    }
}

/// Metadata of a page of a tree.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TreeMetadata {
    #[serde(flatten)]
    page: PageMetadata,
    /// What agents reported in the part of the tree that is in this room. Absent from a page without messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<TokensView>,
}

impl TreeMetadata {
    /// The metadata of a page.
    pub const fn new(page: PageMetadata, usage: Option<TokensView>) -> Self {
        Self { page, usage }
    }
}
