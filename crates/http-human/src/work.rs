//! `/work`: the messages that the caller's agents have to answer, and `/organization/work`: those of
//! the agents of the caller's organization.

use std::time::Duration;

use actix_web::{HttpResponse, web};
use domain::delivery::DeliveryStatus;
use domain::id::{AgentId, ChatId};
use domain::organization::Authority;
use domain::text::bounded;
use domain::work::{WorkFilter, WorkFlag, WorkItem, WorkScope, WorkService};
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{Data, List};
use http_wire::error::ApiError;
use http_wire::openapi::schema;
use http_wire::page::CursorQuery;
use http_wire::path::WorkPath;
use http_wire::query::{FromQuery, NoQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::WorkItemView;

/// The states of open work.
const STATES: [(&str, DeliveryStatus); 4] = [
    (DeliveryStatus::New.as_str(), DeliveryStatus::New),
    (DeliveryStatus::Delivered.as_str(), DeliveryStatus::Delivered),
    (DeliveryStatus::Processing.as_str(), DeliveryStatus::Processing),
    (DeliveryStatus::Failed.as_str(), DeliveryStatus::Failed),
];

/// The maximum number of characters of the text that an error must contain.
const MAX_ERROR_CHARS: usize = 200;

pub(crate) struct ListWorkQuery {
    page: CursorQuery,
    filter: WorkFilter,
}

/// The query of [`list_of_organization`]. It has no filter by error: errors may quote messages of rooms
/// that an admin cannot read.
pub(crate) struct ListOrganizationWorkQuery(ListWorkQuery);

impl FromQuery for ListWorkQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let error = query.parsed(
            "error",
            schema::text(),
            "Only work whose last error contains this text; the case of ASCII letters does not matter.",
            "must be 1 to 200 characters, and not blank",
            |text| bounded(text.to_owned(), MAX_ERROR_CHARS).ok(),
        );
        let mut read = Self::without_error(query)?;
        read.filter.error = error?;
        Ok(read)
    }
}

impl FromQuery for ListOrganizationWorkQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        ListWorkQuery::without_error(query).map(Self)
    }
}

impl ListWorkQuery {
    fn without_error(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = CursorQuery::from_query(query);
        let agent = query.id("agent_id", "Only work of this agent.", AgentId::parse);
        let chat = query.id("chat_id", "Only work in this room.", ChatId::parse);
        let state = query.named("state", &STATES, "Only work in this state.");
        let flag = query.word("flag", WorkFlag::WORDS, "Only work with this flag.", WorkFlag::parse);
        let age = query.positive("min_age_seconds", "Only messages that are at least this old.");
        let attempts = query.positive("min_attempts", "Only work with at least this many attempts.");
        let filter = WorkFilter {
            agent: agent?,
            chat: chat?,
            state: state?.map(|(_, state)| state),
            flag: flag?,
            min_age: age?.map(|seconds| Duration::from_secs(seconds.into())),
            min_attempts: attempts?.unwrap_or(0),
            error: None,
        };
        Ok(Self { page: page?, filter })
    }

    /// A cursor is only valid for the same filters.
    fn scope(&self, list: &str) -> CursorScope {
        let WorkFilter { agent, chat, state, flag, min_age, min_attempts, error } = &self.filter;
        let text = |id: Option<String>| id.unwrap_or_default();
        CursorScope::list(list)
            .filtered("agent_id", &text(agent.map(|id| id.to_string())))
            .filtered("chat_id", &text(chat.map(|id| id.to_string())))
            .filtered("state", state.map_or("", DeliveryStatus::as_str))
            .filtered("flag", flag.map_or("", WorkFlag::as_str))
            .filtered("min_age_seconds", &text(min_age.map(|age| age.as_secs().to_string())))
            .filtered("min_attempts", &min_attempts.to_string())
            .filtered("error", error.as_deref().unwrap_or(""))
    }
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<ListWorkQuery>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    let scope = query.scope("me/work").of(caller.user.uuid());
    listed(&work, WorkScope::OwnedBy(caller.user), scope, query).await
}

pub(crate) async fn list_of_organization(
    UserAuth(caller): UserAuth,
    StrictQuery(ListOrganizationWorkQuery(query)): StrictQuery<ListOrganizationWorkQuery>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    let scope = query.scope("me/organization/work").of(caller.organization.uuid());
    listed(&work, WorkScope::Of(Authority::Admin(caller)), scope, query).await
}

async fn listed(
    work: &WorkService,
    scope: WorkScope,
    cursors: CursorScope,
    query: ListWorkQuery,
) -> Result<HttpResponse, ApiError> {
    let window = query.page.window(cursors)?;
    let page = work.list(scope, query.filter, window.request.clone()).await?;
    let now = work.now();
    let view = |item| WorkItemView::new(item, &work.flags(item, now), now, work.is_connected(item));
    Ok(List::ok(page.rows.iter().map(view), window.metadata(&page)))
}

pub(crate) async fn find(
    UserAuth(caller): UserAuth,
    path: WorkPath,
    _: StrictQuery<NoQuery>,
    work: web::Data<WorkService>,
) -> Result<HttpResponse, ApiError> {
    let item: WorkItem = work.find(WorkScope::OwnedBy(caller.user), path.message, path.agent).await?;
    let now = work.now();
    Ok(Data::ok(WorkItemView::new(&item, &work.flags(&item, now), now, work.is_connected(&item))))
}
