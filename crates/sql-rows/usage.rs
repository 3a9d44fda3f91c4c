//! Sums of usage as rows, and the texts that read them. Compiled into each store, whose tables and functions they name.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use domain::id::{ChatId, RecordId};
use domain::page::{Page, PageRequest, Position};
use domain::usage::{Day, MAX_TOKENS, TokenCounts, UsageGroup, UsageKey, UsageRow, UsageSearch, UsageSum};
use domain::work::WorkScope;

use super::{PRICED, sum};
use crate::row::{Id, IdType};

/// Adds the values of a report to those of the row that is already there.
macro_rules! add_to_existing {
    ($least:literal) => {
        concat!(
            "ON CONFLICT (organization_id, day, owner_id, agent_id, chat_id, root_id, model) DO UPDATE SET \
             input_tokens = ",
            $least,
            "(token_usage.input_tokens + excluded.input_tokens, 9007199254740991), output_tokens = ",
            $least,
            "(token_usage.output_tokens + excluded.output_tokens, 9007199254740991), cache_read_tokens = ",
            $least,
            "(token_usage.cache_read_tokens + excluded.cache_read_tokens, 9007199254740991), cache_write_tokens = ",
            $least,
            "(token_usage.cache_write_tokens + excluded.cache_write_tokens, 9007199254740991), \
             reports = token_usage.reports + excluded.reports"
        )
    };
}
pub(crate) use add_to_existing;

const _: () = assert!(MAX_TOKENS == 9_007_199_254_740_991, "the number in the statements");

/// Binds the values of [`matching`].
macro_rules! bind_matching {
    ($query:expr, $search:expr) => {{
        let (mut query, search) = ($query, $search);
        if let Some(account) = $crate::work::row::account(search.scope) {
            query = query.bind::<IdType, _>(account);
        }
        query = query.bind::<BigInt, _>(search.since.number()).bind::<BigInt, _>(search.until.number());
        let ids = [
            search.agent.map(|id| id.uuid()),
            search.chat.map(|id| id.uuid()),
            search.root.map(|id| id.uuid()),
        ];
        for id in ids.into_iter().flatten() {
            query = query.bind::<IdType, _>(Id(id));
        }
        query
    }};
}
pub(crate) use bind_matching;

/// Binds the values of [`list`] after the priced models.
macro_rules! bind_list {
    ($query:expr, $search:expr, $group:expr, $page:expr) => {{
        let (search, group, page) = ($search, $group, $page);
        let mut query = bind_matching!($query, search);
        if let Some(after) = page.slice.after() {
            query = query.bind::<BigInt, _>(after.key);
            query = match group {
                UsageGroup::Day => query,
                UsageGroup::Model => query.bind::<BigInt, _>(after.key).bind::<Text, _>(after.text),
                _ => query.bind::<BigInt, _>(after.key).bind::<IdType, _>(Id(after.id.uuid())),
            };
        }
        query = query.bind::<BigInt, _>(i64::from(page.slice.limit()) + 1);
        let reader = $crate::work::row::reader(search.scope);
        let organization = $crate::work::row::organization(search.scope);
        match group {
            UsageGroup::Room => query.bind::<IdType, _>(reader).bind::<IdType, _>(organization),
            UsageGroup::Tree => query
                .bind::<IdType, _>(reader)
                .bind::<Integer, _>(SHOWN_TEXT_CHARS.cast_signed())
                .bind::<IdType, _>(reader)
                .bind::<IdType, _>(organization),
            _ => query,
        }
    }};
}
pub(crate) use bind_list;

const NO_ID: &str = "CAST(NULL AS uuid)";
const NO_TEXT: &str = "CAST(NULL AS text)";

/// The condition on the rows of a search.
fn matching(search: &UsageSearch) -> String {
    let mut all = match search.scope {
        WorkScope::Everything => String::new(),
        WorkScope::OwnedBy(_) => "token_usage.owner_id = ? AND ".to_owned(),
        WorkScope::Of(_) => "token_usage.organization_id = ? AND ".to_owned(),
        // Nothing is listed for a sender.
        WorkScope::SentBy(_) => "token_usage.owner_id = ? AND 1 = 0 AND ".to_owned(),
    };
    all += "token_usage.day >= ? AND token_usage.day <= ?";
    for (is_given, condition) in [
        (search.agent.is_some(), " AND token_usage.agent_id = ?"),
        (search.chat.is_some(), " AND token_usage.chat_id = ?"),
        (search.root.is_some(), " AND token_usage.root_id = ?"),
    ] {
        if is_given {
            all += condition;
        }
    }
    all
}

/// The summed columns.
fn sums() -> String {
    let columns = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reports"];
    columns.map(|column| format!("{} AS {column}", sum(&format!("token_usage.{column}")))).join(", ")
}

/// The sums by priced model of all that match: [`SumRow`]. Values: the priced models, and those of [`matching`].
pub(crate) fn totals(search: &UsageSearch) -> String {
    let (sums, matching) = (sums(), matching(search));
    format!("SELECT {PRICED} AS priced, {sums} FROM token_usage WHERE {matching} GROUP BY 1")
}

/// The sums of a tree, of all models together: a [`SumRow`], or none. Values: the root, and the chat.
pub(crate) fn tree() -> String {
    format!(
        "SELECT {NO_TEXT} AS priced, {} FROM token_usage WHERE token_usage.root_id = ? AND token_usage.chat_id = ? \
         GROUP BY token_usage.root_id",
        sums()
    )
}

/// Whether the reader may read the chat with this id. Value: the reader.
fn is_readable(chat: &str) -> String {
    format!(
        "coalesce((SELECT 1 = 1 FROM participants JOIN chats AS own ON own.id = participants.chat_id \
         WHERE participants.chat_id = {chat} AND participants.account_id = ? \
         AND participants.left_at IS NULL AND own.deleted_at IS NULL LIMIT 1), 1 = 0)"
    )
}

/// Whether the reader may know of the joined chat. Values: the reader, and the organization.
fn is_known(scope: WorkScope) -> String {
    let by_operator = if scope == WorkScope::Everything { " OR 1 = 1" } else { "" };
    let readable = is_readable("chats.id");
    format!("({readable} OR coalesce(chats.organization_id = ?, 1 = 0){by_operator})")
}

/// A page of a list: rows of [`ListedRow`], those of one key together. The sums of each key come first, then those of
/// the page are read with their names.
pub(crate) fn list(search: &UsageSearch, group: UsageGroup, page: &PageRequest) -> String {
    let column = match group {
        UsageGroup::Tree => "root_id",
        UsageGroup::Room => "chat_id",
        UsageGroup::Agent => "agent_id",
        UsageGroup::Owner => "owner_id",
        UsageGroup::Organization => "organization_id",
        UsageGroup::Day => "day",
        UsageGroup::Model => "model",
    };
    let (id, day, model) = match group {
        UsageGroup::Day => (NO_ID, "pages.key", "CAST('' AS text)"),
        UsageGroup::Model => (NO_ID, "CAST(0 AS bigint)", "pages.key"),
        _ => ("pages.key", "CAST(0 AS bigint)", "CAST('' AS text)"),
    };
    let no_chat = NO_ID.to_owned();
    let (names, name, handle, chat) = match group {
        UsageGroup::Tree => {
            let readable = is_readable("messages.chat_id");
            let text = format!("CASE WHEN {readable} THEN substr(messages.content, 1, ?) END");
            let chat = format!("CASE WHEN {} THEN chats.id END", is_known(search.scope));
            let messages = "LEFT JOIN messages ON messages.id = pages.key LEFT JOIN chats ON chats.id = messages.chat_id";
            (messages, text, NO_TEXT, chat)
        }
        UsageGroup::Room => {
            let title = format!("CASE WHEN {} THEN chats.title END", is_known(search.scope));
            ("LEFT JOIN chats ON chats.id = pages.key", title, NO_TEXT, no_chat)
        }
        UsageGroup::Agent => {
            ("LEFT JOIN agents ON agents.id = pages.key", "agents.name".to_owned(), "agents.handle", no_chat)
        }
        UsageGroup::Owner => {
            let name = "trim(users.first_name || ' ' || users.last_name)".to_owned();
            ("LEFT JOIN users ON users.id = pages.key", name, "users.handle", no_chat)
        }
        UsageGroup::Organization => {
            let name = "organizations.name".to_owned();
            ("LEFT JOIN organizations ON organizations.id = pages.key", name, NO_TEXT, no_chat)
        }
        UsageGroup::Day | UsageGroup::Model => ("", NO_TEXT.to_owned(), NO_TEXT, no_chat),
    };
    let (order, after) = match group {
        UsageGroup::Day => ("pages.key DESC", "pages.key < ?"),
        _ => ("pages.tokens DESC, pages.key", "(pages.tokens < ? OR pages.tokens = ? AND pages.key > ?)"),
    };
    let after = if page.slice.after().is_some() { after } else { "1 = 1" };
    let tokens = sum(
        "counted.input_tokens + counted.output_tokens + counted.cache_read_tokens + counted.cache_write_tokens",
    );
    let (matching, sums) = (matching(search), sums());
    format!(
        "WITH counted AS MATERIALIZED (SELECT token_usage.{column} AS key, {PRICED} AS priced, {sums} \
             FROM token_usage WHERE {matching} GROUP BY 1, 2), \
         listed AS MATERIALIZED (SELECT pages.key, pages.tokens \
             FROM (SELECT counted.key AS key, {tokens} AS tokens FROM counted GROUP BY counted.key) AS pages \
             WHERE {after} ORDER BY {order} LIMIT ?) \
         SELECT counted.priced AS priced, counted.input_tokens AS input_tokens, counted.output_tokens AS output_tokens, \
             counted.cache_read_tokens AS cache_read_tokens, counted.cache_write_tokens AS cache_write_tokens, \
             counted.reports AS reports, {id} AS key_id, {day} AS key_day, {model} AS key_model, \
             {name} AS name, {handle} AS handle, {chat} AS chat_id \
         FROM listed AS pages JOIN counted ON counted.key = pages.key {names} ORDER BY {order}"
    )
}

/// A sum of reports of one model, or of all without a price.
#[derive(Queryable, QueryableByName)]
pub(crate) struct SumRow {
    #[diesel(sql_type = Nullable<Text>)]
    priced: Option<String>,
    #[diesel(sql_type = BigInt)]
    input_tokens: i64,
    #[diesel(sql_type = BigInt)]
    output_tokens: i64,
    #[diesel(sql_type = BigInt)]
    cache_read_tokens: i64,
    #[diesel(sql_type = BigInt)]
    cache_write_tokens: i64,
    #[diesel(sql_type = BigInt)]
    reports: i64,
}

/// These sums, in the order of their models.
pub(crate) fn sums_of(rows: Vec<SumRow>) -> Vec<UsageSum> {
    let mut sums = rows.into_iter().map(SumRow::into_sum).collect::<Vec<_>>();
    sums.sort_by(|one, other| one.model.cmp(&other.model));
    sums
}

impl SumRow {
    pub(crate) fn into_sum(self) -> UsageSum {
        let number = |column: i64| u64::try_from(column).unwrap_or(0);
        UsageSum {
            model: self.priced,
            tokens: TokenCounts {
                input: number(self.input_tokens),
                output: number(self.output_tokens),
                cache_read: number(self.cache_read_tokens),
                cache_write: number(self.cache_write_tokens),
            },
            reports: number(self.reports),
        }
    }
}

/// The sum of one model in a row of a list, with the key of the row.
#[derive(Queryable, QueryableByName)]
pub(crate) struct ListedRow {
    #[diesel(embed)]
    sum: SumRow,
    #[diesel(sql_type = Nullable<IdType>)]
    key_id: Option<Id>,
    #[diesel(sql_type = BigInt)]
    key_day: i64,
    #[diesel(sql_type = Text)]
    key_model: String,
    #[diesel(sql_type = Nullable<Text>)]
    name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    handle: Option<String>,
    #[diesel(sql_type = Nullable<IdType>)]
    chat_id: Option<Id>,
}

/// A page of these rows.
pub(crate) fn page_of(rows: Vec<ListedRow>, group: UsageGroup, request: &PageRequest) -> Page<UsageRow> {
    let mut listed = Vec::<UsageRow>::new();
    for row in rows {
        let key = match (group, row.key_id) {
            (UsageGroup::Day, _) => UsageKey::Day(Day::new(row.key_day)),
            (_, Some(id)) => UsageKey::Record(RecordId::new(id.0)),
            (_, None) => UsageKey::Model(Some(row.key_model).filter(|model| !model.is_empty())),
        };
        let sum = row.sum.into_sum();
        match listed.last_mut() {
            Some(last) if last.key == key => last.sums.push(sum),
            _ => {
                let chat = row.chat_id.map(|id| ChatId::new(id.0));
                listed.push(UsageRow { key, name: row.name, handle: row.handle, chat, sums: vec![sum] });
            }
        }
    }
    for row in &mut listed {
        row.sums.sort_by(|one, other| one.model.cmp(&other.model));
    }
    let position: fn(&UsageRow) -> Position = UsageRow::position;
    Page::from_overfetch(listed, request, None, position)
}
