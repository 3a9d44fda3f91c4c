//! `parlance usage`

use std::sync::Arc;

use clap::{Args, ValueEnum};
use domain::id::MessageId;
use domain::organization::Authority;
use domain::page::{PageRequest, Slice};
use domain::usage::{Day, Prices, TokenCounts, UsageFilter, UsageGroup, UsageKey, UsageRow, UsageSum};
use domain::work::WorkScope;
use serde_json::{Value, json};

use crate::cli::TableArguments;
use crate::commands::{agent, chat, org};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{List, Rows, count, print};
use crate::store::{self, Store};
use crate::wiring;

/// The number of rows that are read at once.
const AT_ONCE: u32 = 100;

/// The next step for a wrong argument.
const HELP: &str = "see `parlance usage --help`";

/// What to sum.
#[derive(Args, Debug)]
pub struct UsageArguments {
    /// What each row is about.
    #[arg(long, value_enum, default_value_t = GroupArgument::Agent)]
    pub by: GroupArgument,
    /// Only reports from this day on (UTC), such as 2026-11-01 [default: the 30 days up to --until or today].
    #[arg(long, value_name = "DAY")]
    pub since: Option<String>,
    /// Only reports up to and including this day (UTC).
    #[arg(long, value_name = "DAY")]
    pub until: Option<String>,
    /// Only reports of the agents of this organization.
    #[arg(long, value_name = "NAME", visible_alias = "organization")]
    pub org: Option<String>,
    /// Only reports of this agent (owner/slug).
    #[arg(long, value_name = "HANDLE")]
    pub agent: Option<String>,
    /// Only reports in this room.
    #[arg(long, value_name = "ID", visible_alias = "chat")]
    pub room: Option<String>,
    /// Only reports in the tree that this message began.
    #[arg(long, value_name = "ID")]
    pub root: Option<String>,
    /// Maximum number of rows.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What is summed to one row, as given on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum GroupArgument {
    /// What follows from one message.
    Tree,
    /// A room.
    Room,
    /// An agent.
    Agent,
    /// The owner of agents.
    Owner,
    /// The organization to which the owner belonged.
    Organization,
    /// A day in UTC.
    Day,
    /// A model.
    Model,
}

impl From<GroupArgument> for UsageGroup {
    fn from(group: GroupArgument) -> Self {
        match group {
            GroupArgument::Tree => Self::Tree,
            GroupArgument::Room => Self::Room,
            GroupArgument::Agent => Self::Agent,
            GroupArgument::Owner => Self::Owner,
            GroupArgument::Organization => Self::Organization,
            GroupArgument::Day => Self::Day,
            GroupArgument::Model => Self::Model,
        }
    }
}

/// Runs the command on the configured store, and prints the result.
pub(crate) async fn run(config: &Config, arguments: &UsageArguments) -> Result<(), Failure> {
    store::with(config, async |store| list(config, store, arguments).await).await
}

async fn filter(
    config: &Config,
    store: &Arc<dyn Store>,
    arguments: &UsageArguments,
) -> Result<(WorkScope, UsageFilter), Failure> {
    let mut filter = UsageFilter {
        since: day("since", arguments.since.as_deref())?,
        until: day("until", arguments.until.as_deref())?,
        ..UsageFilter::default()
    };
    if let Some(handle) = &arguments.agent {
        filter.agent = Some(agent::find(store, handle).await?.id);
    }
    if let Some(room) = &arguments.room {
        filter.chat = Some(chat::find(store, room).await?.chat.id);
    }
    if let Some(root) = &arguments.root {
        let id = MessageId::parse(root.trim());
        let wrong = || Failure::plain(format!("--root: '{root}' is not the id of a message")).next(HELP);
        filter.root = Some(id.ok_or_else(wrong)?);
    }
    let scope = match &arguments.org {
        Some(name) => {
            let organizations = wiring::organizations(config, store.clone());
            let organization = org::named(&organizations, store, name).await?;
            WorkScope::Of(Authority::Operator(organization.id))
        }
        None => WorkScope::Everything,
    };
    Ok((scope, filter))
}

fn day(option: &str, given: Option<&str>) -> Result<Option<Day>, Failure> {
    let wrong = |text: &str| {
        Failure::plain(format!("--{option}: '{text}' is not a day such as 2026-11-01")).next(HELP)
    };
    given.map(|text| Day::parse(text).ok_or_else(|| wrong(text))).transpose()
}

async fn list(config: &Config, store: &Arc<dyn Store>, arguments: &UsageArguments) -> Result<(), Failure> {
    let (scope, filter) = filter(config, store, arguments).await?;
    let (usage, group) = (wiring::usage(config, store.clone()), arguments.by.into());
    let (mut rows, mut after, mut sums) = (Vec::new(), None, None);
    loop {
        let left = arguments.limit - u32::try_from(rows.len()).unwrap_or(arguments.limit);
        let request = PageRequest { slice: Slice::After { after, limit: left.min(AT_ONCE) }, count: false };
        let part = usage.list(scope, filter, group, request).await;
        let part = part.map_err(|cause| Failure::new("cannot read usage", cause).next(store::NEXT))?;
        rows.extend(part.page.rows);
        // Only the first page has them.
        sums = sums.or(part.sums);
        after = part.page.next;
        if after.is_none() || rows.len() >= arguments.limit as usize {
            break;
        }
    }
    let sums = sums.unwrap_or_default();
    let prices = usage.prices();
    if arguments.json {
        let listed = rows.iter().map(|row| as_json(row, prices)).collect::<Vec<_>>();
        let totals = sums_as_json(&sums, prices);
        let all = json!({"usage": listed, "group_by": group.as_str(), "currency": prices.currency, "totals": totals});
        return print(&all.to_string());
    }
    let empty = if filter == UsageFilter::default() && arguments.org.is_none() {
        "No agent has reported usage in the last 30 days."
    } else {
        "No such usage."
    };
    let headings = match group {
        UsageGroup::Tree => &["INPUT", "OUTPUT", "CACHED", "REPORTS", "COST", "TREE"],
        UsageGroup::Room => &["INPUT", "OUTPUT", "CACHED", "REPORTS", "COST", "ROOM"],
        UsageGroup::Agent => &["INPUT", "OUTPUT", "CACHED", "REPORTS", "COST", "AGENT"],
        UsageGroup::Owner => &["INPUT", "OUTPUT", "CACHED", "REPORTS", "COST", "OWNER"],
        UsageGroup::Organization => &["INPUT", "OUTPUT", "CACHED", "REPORTS", "COST", "ORGANIZATION"],
        UsageGroup::Day => &["INPUT", "OUTPUT", "CACHED", "REPORTS", "COST", "DAY"],
        UsageGroup::Model => &["INPUT", "OUTPUT", "CACHED", "REPORTS", "COST", "MODEL"],
    };
    let how = TableArguments { json: false, utc: false };
    let mut table = Rows::begin(List { name: None, headings, empty }, &how)?;
    for row in &rows {
        table.row(|| Value::Null, |_| as_cells(row, prices))?;
    }
    table.end()?;
    if rows.is_empty() { Ok(()) } else { print(&total_as_text(&sums, prices)) }
}

/// The id, the day, or the model of a row.
fn key(row: &UsageRow) -> Option<String> {
    match &row.key {
        UsageKey::Record(id) => Some(id.uuid().to_string()),
        UsageKey::Day(day) => Some(day.to_string()),
        UsageKey::Model(model) => model.clone(),
    }
}

fn sums_as_json(sums: &[UsageSum], prices: &Prices) -> Value {
    let (tokens, reports) = total(sums);
    let cost = prices.cost(sums);
    json!({
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "cache_read_tokens": tokens.cache_read,
        "cache_write_tokens": tokens.cache_write,
        "reports": reports,
        "cost": cost.amount.map(|amount| amount.to_string()),
        "unpriced_tokens": cost.unpriced_tokens,
    })
}

fn as_json(row: &UsageRow, prices: &Prices) -> Value {
    let mut all = sums_as_json(&row.sums, prices);
    all["id"] = json!(key(row));
    all["name"] = json!(row.name);
    all["handle"] = json!(row.handle);
    all["chat_room_id"] = json!(row.chat.map(|chat| chat.to_string()));
    all
}

fn as_cells(row: &UsageRow, prices: &Prices) -> Vec<String> {
    let (tokens, reports) = total(&row.sums);
    let amount = prices.cost(&row.sums).amount;
    let shown = row.handle.clone().or_else(|| row.name.clone()).or_else(|| key(row));
    vec![
        short(tokens.input),
        short(tokens.output),
        short(tokens.cache_read.saturating_add(tokens.cache_write)),
        reports.to_string(),
        amount.map_or_else(|| "-".to_owned(), |amount| amount.to_string()),
        shown.unwrap_or_else(|| "no model".to_owned()),
    ]
}

fn total(sums: &[UsageSum]) -> (TokenCounts, u64) {
    sums.iter().fold((TokenCounts::default(), 0), |(tokens, reports), sum| {
        (tokens.plus(sum.tokens), reports + sum.reports)
    })
}

fn total_as_text(sums: &[UsageSum], prices: &Prices) -> String {
    let (TokenCounts { input, output, cache_read, cache_write }, reports) = total(sums);
    let cached = short(cache_read.saturating_add(cache_write));
    let tokens = format!("{} input, {} output, {cached} cached", short(input), short(output));
    let cost = prices.cost(sums);
    let amount = match (cost.amount, &prices.currency) {
        (Some(amount), Some(currency)) => format!(" Cost: {amount} {currency}."),
        _ => String::new(),
    };
    let unpriced = if !amount.is_empty() && cost.unpriced_tokens > 0 {
        format!("\nThe cost excludes {} tokens without a price.", short(cost.unpriced_tokens))
    } else {
        String::new()
    };
    format!("Total: {tokens} tokens in {}.{amount}{unpriced}", count(reports, "report"))
}

/// A number of tokens with at most four digits: `1234`, `12.3k`, `4.56M`.
fn short(number: u64) -> String {
    if number < 10_000 {
        return number.to_string();
    }
    let (mut unit, mut of) = (1_000, 'k');
    for (next, letter) in [(1_000_000, 'M'), (1_000_000_000, 'G'), (1_000_000_000_000, 'T')] {
        if number >= next {
            (unit, of) = (next, letter);
        }
    }
    let (whole, hundredths) = (number / unit, number % unit * 100 / unit);
    match whole {
        0..10 => format!("{whole}.{hundredths:02}{of}"),
        10..100 => format!("{whole}.{}{of}", hundredths / 10),
        _ => format!("{whole}{of}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (number, text) in [
            (0, "0"),
            (9_999, "9999"),
            (10_000, "10.0k"),
            (123_999, "123k"),
            (1_000_000, "1.00M"),
            (4_569_999, "4.56M"),
            (45_600_000_000, "45.6G"),
            (domain::usage::MAX_TOKENS, "9007T"),
        ] {
            assert_eq!(short(number), text);
        }
    }
}
