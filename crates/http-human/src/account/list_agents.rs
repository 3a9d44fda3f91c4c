//! `GET /agents`: the caller's agents, filtered and sorted; `GET /agents/{agent_id}`: one of them. `include=work` adds
//! the connection and the work, `include=doors` the last use of each door.

use std::slice;

use actix_web::{HttpResponse, web};
use domain::account::{AccountService, Agent, AgentListing, AgentSort};
use domain::page::Order;
use domain::text::NamePart;
use domain::work::WorkService;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{Data, List};
use http_wire::error::ApiError;
use http_wire::features::Features;
use http_wire::openapi::schema::text;
use http_wire::page::{PageMetadata, PageQuery};
use http_wire::path::AgentPath;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::OwnedAgentView;
use serde::Serialize;
use utoipa::ToSchema;

/// The maximum length of the filter by name; no name is longer.
const MAX_NAME_CHARS: usize = 100;

/// The sort keys, each with its label.
const SORTS: [(&str, (AgentSort, &str)); 3] = [
    ("inserted_at", (AgentSort::Created, "Created")),
    ("name", (AgentSort::Name, "Name")),
    ("updated_at", (AgentSort::Updated, "Updated")),
];

/// The filters: parameter, type, label.
const FILTERS: [(&str, &str, &str); 3] = [
    ("name", "string", "Name"),
    ("is_external", "boolean", "External"),
    ("listed_in_directory", "boolean", "Listed in directory"),
];

pub(crate) struct ListAgentsQuery {
    page: PageQuery,
    listing: AgentListing,
    sort: &'static str,
    parts: Vec<Part>,
}

/// What can be included with an agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Work,
    Doors,
}

/// Reads `include`.
fn parts(query: &mut QueryReader) -> Result<Vec<Part>, Rejected> {
    let known = [("work", Part::Work), ("doors", Part::Doors)];
    query.items("include", &known, "What to include with an agent.")
}

/// Shows agents, with the parts that are asked for.
async fn shown<'a>(
    agents: &'a [Agent],
    parts: &[Part],
    accounts: &AccountService,
    work: &WorkService,
    features: Features,
) -> Result<Vec<OwnedAgentView<'a>>, ApiError> {
    let ids = agents.iter().map(|agent| agent.id).collect::<Vec<_>>();
    let mut views = agents.iter().map(|agent| OwnedAgentView::new(agent, features)).collect::<Vec<_>>();
    if parts.contains(&Part::Work) {
        let each = work.of_agents(ids.clone()).await?;
        let of = |((view, agent), of_agent): ((OwnedAgentView<'a>, &Agent), _)| {
            view.with_work(of_agent, work.is_connected(agent.id, agent.kind.is_external()))
        };
        views = views.into_iter().zip(agents).zip(&each).map(of).collect();
    }
    if parts.contains(&Part::Doors) {
        let each = accounts.doors(&ids).await?;
        views = views.into_iter().zip(&each).map(|(view, doors)| view.with_doors(doors)).collect();
    }
    Ok(views)
}

pub(crate) struct FindAgentQuery {
    parts: Vec<Part>,
}

impl FromQuery for FindAgentQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        Ok(Self { parts: parts(query)? })
    }
}

pub(crate) async fn find_agent(
    UserAuth(caller): UserAuth,
    path: AgentPath,
    StrictQuery(query): StrictQuery<FindAgentQuery>,
    accounts: web::Data<AccountService>,
    work: web::Data<WorkService>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    let agent = accounts.owned_agent(caller, path.agent).await?;
    let shown = shown(slice::from_ref(&agent), &query.parts, &accounts, &work, **features).await?;
    Ok(Data::ok(shown.first()))
}

impl FromQuery for ListAgentsQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = PageQuery::from_query(query);
        let name = query.parsed(
            "name",
            text().max(MAX_NAME_CHARS),
            "Part of the name, ignoring case.",
            "should be at most 100 character(s)",
            |text| (text.chars().count() <= MAX_NAME_CHARS).then(|| NamePart::new(text)),
        );
        let is_external = query.flag("is_external", "Agents run by their owner, or by the service.");
        let listed = query.flag("listed_in_directory", "Agents listed in the directory, or not listed.");
        let sort = query.named("sort", &SORTS, "Sort key.");
        let order = query.word("order", Order::WORDS, "Sort direction; descending by default.", Order::parse);
        let parts = parts(query);
        let (word, (sort, _)) = sort?.unwrap_or(SORTS[0]);
        let listing = AgentListing {
            name: name?.flatten(),
            is_external: is_external?,
            listed_in_directory: listed?,
            sort,
            order: order?.unwrap_or(Order::Descending),
        };
        Ok(Self { page: page?, listing, sort: word, parts: parts? })
    }
}

impl ListAgentsQuery {
    /// A cursor is only valid for the same sort order and filters.
    fn scope(&self) -> CursorScope {
        let AgentListing { name, is_external, listed_in_directory, order, .. } = &self.listing;
        let flag = |value: &Option<bool>| value.map_or("", |value| if value { "true" } else { "false" });
        CursorScope::list("me/agents")
            .filtered("name", name.as_ref().map_or("", NamePart::as_str))
            .filtered("is_external", flag(is_external))
            .filtered("listed_in_directory", flag(listed_in_directory))
            .filtered("sort", self.sort)
            .filtered("order", order.as_str())
    }
}

#[derive(Serialize, ToSchema)]
pub(crate) struct ListAgentsMetadata {
    #[serde(flatten)]
    page: PageMetadata,
    available_filters: [FilterView; 3],
    sortable_fields: [FieldView; 3],
}

#[derive(Serialize, ToSchema)]
struct FilterView {
    label: &'static str,
    param: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize, ToSchema)]
struct FieldView {
    label: &'static str,
    param: &'static str,
}

impl ListAgentsMetadata {
    fn new(page: PageMetadata) -> Self {
        Self {
            page,
            available_filters: FILTERS.map(|(param, kind, label)| FilterView { label, param, kind }),
            sortable_fields: SORTS.map(|(param, (_, label))| FieldView { label, param }),
        }
    }
}

pub(crate) async fn list_agents(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<ListAgentsQuery>,
    accounts: web::Data<AccountService>,
    work: web::Data<WorkService>,
    features: web::Data<Features>,
) -> Result<HttpResponse, ApiError> {
    let scope = query.scope().of(caller.user.uuid());
    let window = query.page.window(scope)?;
    let page = accounts.list_agents(caller, query.listing, window.request.clone()).await?;
    let metadata = ListAgentsMetadata::new(window.metadata(&page));
    let shown = shown(&page.rows, &query.parts, &accounts, &work, **features).await?;
    Ok(window.mark(List::ok(shown, metadata)))
}
