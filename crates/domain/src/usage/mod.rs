//! Usage: the tokens of language models that agents report, summed for those who pay for them.
//!
//! Agents report the tokens of a turn in the metadata of a `task` event ([`UsageReport`]). The sums are kept apart from
//! the events, so they outlive the messages, rooms, and agents that they belong to.
//!
//! Reports are what agents say: the server sees no model, and cannot check them.

mod counts;
mod day;
mod port;
mod price;
mod service;

pub use counts::{MAX_REPORT_TOKENS, MAX_TOKENS, ReportedTokens, TokenCounts, TokenKind, UsageReport};
pub use day::Day;
pub use port::{UsageGroup, UsageKey, UsageList, UsageRepository, UsageRow, UsageSearch, UsageSum};
pub use price::{Cost, ModelPrice, Money, Prices};
pub use service::{UsageFilter, UsageService};
