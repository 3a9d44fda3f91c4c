//! `GET /agents`: the caller's agents, filtered and sorted.

use actix_web::{HttpResponse, web};
use domain::account::{AccountService, AgentListing, AgentSort};
use domain::page::Order;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::openapi::schema::text;
use http_wire::page::{PageMetadata, PageQuery};
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::AgentView;
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
}

impl FromQuery for ListAgentsQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = PageQuery::from_query(query);
        let name = query.parsed(
            "name",
            text().max(MAX_NAME_CHARS),
            "Part of the name, ignoring case.",
            "should be at most 100 character(s)",
            |text| (text.chars().count() <= MAX_NAME_CHARS).then(|| text.to_owned()),
        );
        let is_external = query.flag("is_external", "Agents run by their owner, or by the service.");
        let listed = query.flag("listed_in_directory", "Agents listed in the directory, or not listed.");
        let sort = query.named("sort", &SORTS, "Sort key.");
        let order = query.word("order", Order::WORDS, "Sort direction; descending by default.", Order::parse);
        let (word, (sort, _)) = sort?.unwrap_or(SORTS[0]);
        let listing = AgentListing {
            name: name?.filter(|name| !name.is_empty()),
            is_external: is_external?,
            listed_in_directory: listed?,
            sort,
            order: order?.unwrap_or(Order::Descending),
        };
        Ok(Self { page: page?, listing, sort: word })
    }
}

impl ListAgentsQuery {
    /// A cursor is only valid for the same sort order and filters.
    fn scope(&self) -> CursorScope {
        let AgentListing { name, is_external, listed_in_directory, order, .. } = &self.listing;
        let flag = |value: &Option<bool>| value.map_or("", |value| if value { "true" } else { "false" });
        CursorScope::list("me/agents")
            .filtered("name", name.as_deref().unwrap_or_default())
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
) -> Result<HttpResponse, ApiError> {
    let scope = query.scope().of(caller.user.uuid());
    let window = query.page.window(scope)?;
    let page = accounts.list_agents(caller, query.listing, window.request.clone()).await?;
    let metadata = ListAgentsMetadata::new(window.metadata(&page));
    Ok(window.mark(List::ok(page.rows.iter().map(AgentView::new), metadata)))
}
