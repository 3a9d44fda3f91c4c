//! `GET /agents`: the caller's agents, filtered and sorted; `GET /agents/{agent_id}`: one of them. `include=work` adds
//! the connection and the work.

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
    with_work: bool,
}

/// Reads `include=work`.
fn with_work(query: &mut QueryReader) -> Result<bool, Rejected> {
    let included = query.items("include", &[("work", ())], "What to include with an agent.")?;
    Ok(!included.is_empty())
}

/// Shows agents, with their connections and their work if these are asked for.
async fn shown<'a>(
    agents: &'a [Agent],
    with_work: bool,
    work: &WorkService,
    features: Features,
) -> Result<Vec<OwnedAgentView<'a>>, ApiError> {
    if !with_work {
        return Ok(agents.iter().map(|agent| OwnedAgentView::new(agent, features, None)).collect());
    }
    let each = work.of_agents(agents.iter().map(|agent| agent.id).collect()).await?;
    let view = |(agent, of_agent): (&'a Agent, _)| {
        let connected = work.is_connected(agent.id, agent.kind.is_external());
        OwnedAgentView::new(agent, features, Some((of_agent, connected)))
    };
    Ok(agents.iter().zip(&each).map(view).collect())
}

pub(crate) struct FindAgentQuery {
    with_work: bool,
}

impl FromQuery for FindAgentQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        Ok(Self { with_work: with_work(query)? })
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
    let shown = shown(slice::from_ref(&agent), query.with_work, &work, **features).await?;
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
        let with_work = with_work(query);
        let (word, (sort, _)) = sort?.unwrap_or(SORTS[0]);
        let listing = AgentListing {
            name: name?.flatten(),
            is_external: is_external?,
            listed_in_directory: listed?,
            sort,
            order: order?.unwrap_or(Order::Descending),
        };
        Ok(Self { page: page?, listing, sort: word, with_work: with_work? })
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
    Ok(window.mark(List::ok(shown(&page.rows, query.with_work, &work, **features).await?, metadata)))
}
