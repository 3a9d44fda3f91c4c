//! `GET /memories`: what the agent may read, newest first.

use actix_web::{HttpResponse, web};
use domain::id::parse_uuid;
use domain::memory::{AgentListing, MemoryOwners, MemoryScope, MemoryService};
use http_wire::auth::AgentAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::memories::MemoryListQuery;
use http_wire::openapi::schema::{Parameter, parameter, uuid, word};
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Told;
use http_wire::view::MemoryView;

const UNKNOWN: &str = "Invalid value for enum";

/// Whose memories, in the words of the wire.
const OWNERS: [(&str, MemoryOwners); 2] = [("me", MemoryOwners::Own), ("org", MemoryOwners::Organization)];

pub(crate) struct ListMemoriesQuery {
    common: MemoryListQuery,
    listing: AgentListing,
    owners: &'static str,
}

impl FromQuery for ListMemoriesQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Told> {
        let common = MemoryListQuery::from_query(query);
        let subject = query.parsed("subject_id", "must be a UUID", parse_uuid);
        let scope = query.parsed("scope", UNKNOWN, |text| match text {
            "all" => Some(None),
            text => MemoryScope::parse(text).map(Some),
        });
        let owners =
            query.parsed("memory_scope", UNKNOWN, |text| OWNERS.into_iter().find(|(word, _)| *word == text));
        let (word, owners) = owners?.unwrap_or_default();
        let common = common?;
        let listing = AgentListing {
            filter: common.filter.clone(),
            subject: subject?,
            scope: scope?.flatten(),
            owners,
        };
        Ok(Self { common, listing, owners: word })
    }

    fn parameters() -> Vec<Parameter> {
        let mut all = MemoryListQuery::parameters();
        let scopes = ["subject", "organization", "agent", "all"];
        all.push(parameter("subject_id", uuid(), "Only memories about this user or agent."));
        all.push(parameter("scope", word(&scopes), "Only this scope; all by default."));
        all.push(parameter(
            "memory_scope",
            word(&["me", "org"]),
            "Only the agent's own memories, or those of its \
         organization.",
        ));
        all
    }
}

pub(crate) async fn list(
    AgentAuth(caller): AgentAuth,
    StrictQuery(query): StrictQuery<ListMemoriesQuery>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    let ListMemoriesQuery { common, listing, owners } = query;
    let scope = CursorScope::list("agent/memories")
        .of(caller.agent.uuid())
        .filtered("scope", listing.scope.map_or("", MemoryScope::as_str))
        .filtered("subject_id", &listing.subject.map(|id| id.to_string()).unwrap_or_default())
        .filtered("memory_scope", owners);
    let window = common.page.clone().window(common.scope(scope))?;
    let page = memories.list_for_agent(caller, listing, window.request.clone()).await?;
    window.whole(&page)?;
    let rows = page.rows.iter().map(MemoryView::new);
    Ok(window.mark(List::ok_with_meta(rows, window.metadata(&page))))
}
