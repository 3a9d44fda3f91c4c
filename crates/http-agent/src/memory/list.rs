//! `GET /memories`: the memories that the agent can read, newest first.

use actix_web::{HttpResponse, web};
use domain::id::AccountId;
use domain::memory::{MemoriesOfAgent, MemoryOwners, MemoryScope, MemoryService};
use http_wire::auth::AgentAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{List, ok_off_thread};
use http_wire::error::ApiError;
use http_wire::memories::MemoryListQuery;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::MemoryView;

const SCOPES: [(&str, Option<MemoryScope>); 4] = [
    ("subject", Some(MemoryScope::Subject)),
    ("organization", Some(MemoryScope::Organization)),
    ("agent", Some(MemoryScope::Agent)),
    ("all", None),
];

/// The values of `memory_scope`.
const OWNERS: [(&str, MemoryOwners); 2] = [("me", MemoryOwners::Own), ("org", MemoryOwners::Organization)];

pub(crate) struct ListMemoriesQuery {
    common: MemoryListQuery,
    listing: MemoriesOfAgent,
    owners: &'static str,
}

impl FromQuery for ListMemoriesQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let common = MemoryListQuery::from_query(query);
        let subject = query.id("subject_id", "Only memories about this user or agent.", AccountId::parse);
        let scope = query.named("scope", &SCOPES, "Only this scope; all by default.");
        let description = "Only the agent's own memories, or those of its organization.";
        let owners = query.named("memory_scope", &OWNERS, description);
        let (word, owners) = owners?.unwrap_or_default();
        let common = common?;
        let listing = MemoriesOfAgent {
            filter: common.filter.clone(),
            subject: subject?,
            scope: scope?.and_then(|(_, scope)| scope),
            owners,
        };
        Ok(Self { common, listing, owners: word })
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
    let metadata = window.metadata(&page);
    let list = ok_off_thread(MemoryView::bytes(&page.rows), move || {
        List::with_meta(page.rows.iter().map(MemoryView::new), metadata).encode()
    });
    Ok(window.mark(list.await?))
}
