//! `/usage`: the tokens that the caller's agents report, and `/organization/usage`: those of the agents of the caller's
//! organization.

use actix_web::{HttpResponse, web};
use domain::id::{AgentId, ChatId, MessageId};
use domain::usage::{Day, UsageFilter, UsageGroup, UsageService};
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::openapi::schema;
use http_wire::page::CursorQuery;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::{UsageMetadata, UsageView};

use crate::work::Scope;

const SINCE: &str = "Only reports from this day on (UTC), such as 2026-07-01. By default, the list has the 30 days that \
    end with `until`, or with today.";

pub(crate) struct ListUsageQuery {
    page: CursorQuery,
    filter: UsageFilter,
    group: UsageGroup,
}

impl FromQuery for ListUsageQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = CursorQuery::from_query(query);
        let since = day(query, "since", SINCE);
        let until = day(query, "until", "Only reports up to and including this day (UTC).");
        let agent = query.id("agent_id", "Only reports of this agent.", AgentId::parse);
        let chat = query.id("chat_id", "Only reports in this room.", ChatId::parse);
        let root = query.id("root_id", "Only reports in the tree that this message began.", MessageId::parse);
        let group = query.word(
            "group_by",
            UsageGroup::WORDS,
            "What each row is about; `agent` by default.",
            UsageGroup::parse,
        );
        let filter = UsageFilter { since: since?, until: until?, agent: agent?, chat: chat?, root: root? };
        Ok(Self { page: page?, filter, group: group?.unwrap_or_default() })
    }
}

fn day(
    query: &mut QueryReader,
    name: &'static str,
    description: &'static str,
) -> Result<Option<Day>, Rejected> {
    query.parsed(
        name,
        schema::text().format("date"),
        description,
        "must be a day such as 2026-07-01",
        Day::parse,
    )
}

impl ListUsageQuery {
    /// A cursor is only valid for the same filters.
    fn scoped(&self, scope: CursorScope) -> CursorScope {
        let UsageFilter { since, until, agent, chat, root } = self.filter;
        let text = |given: Option<String>| given.unwrap_or_default();
        scope
            .filtered("since", &text(since.map(|day| day.to_string())))
            .filtered("until", &text(until.map(|day| day.to_string())))
            .filtered("agent_id", &text(agent.map(|id| id.to_string())))
            .filtered("chat_id", &text(chat.map(|id| id.to_string())))
            .filtered("root_id", &text(root.map(|id| id.to_string())))
            .filtered("group_by", self.group.as_str())
    }
}

pub(crate) async fn list<S: Scope>(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<ListUsageQuery>,
    usage: web::Data<UsageService>,
) -> Result<HttpResponse, ApiError> {
    let scope = query.scoped(S::list("usage", caller));
    let window = query.page.window(scope)?;
    let list = usage.list(S::of(caller), query.filter, query.group, window.request.clone()).await?;
    let prices = usage.prices();
    let metadata = UsageMetadata::new(window.metadata(&list.page), &list, query.group, prices);
    Ok(List::ok(list.page.rows.iter().map(|row| UsageView::new(row, prices)), metadata))
}
