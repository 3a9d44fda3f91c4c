//! `GET /memories`: what the human may read, newest first.

use actix_web::{HttpResponse, web};
use domain::id::{AgentId, ChatId};
use domain::memory::{HumanListing, HumanScope, MemoryService};
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::memories::MemoryListQuery;
use http_wire::openapi::schema::{Parameter, parameter, uuid, word};
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Told;
use http_wire::view::MemoryView;

/// Which part, in the words of the wire.
const SCOPES: [(&str, HumanScope); 4] = [
    ("all", HumanScope::All),
    ("about_me", HumanScope::AboutMe),
    ("organization", HumanScope::Organization),
    ("room", HumanScope::Room),
];

pub(crate) struct ListMemoriesQuery {
    common: MemoryListQuery,
    listing: HumanListing,
    scope: &'static str,
}

impl FromQuery for ListMemoriesQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Told> {
        let common = MemoryListQuery::from_query(query);
        let scope = query.parsed("scope", "Invalid value for enum", |text| {
            SCOPES.into_iter().find(|(word, _)| *word == text)
        });
        let room = query.parsed("chat_room_id", "must be a UUID", ChatId::parse);
        let source = query.parsed("source_agent_id", "must be a UUID", AgentId::parse);
        let ((word, scope), common) = (scope?.unwrap_or(SCOPES[0]), common?);
        let listing = HumanListing { filter: common.filter.clone(), scope, room: room?, source: source? };
        Ok(Self { common, listing, scope: word })
    }

    fn parameters() -> Vec<Parameter> {
        let mut all = MemoryListQuery::parameters();
        all.push(parameter(
            "scope",
            word(&SCOPES.map(|(word, _)| word)),
            "Only memories with this relation to the caller.",
        ));
        all.push(parameter("chat_room_id", uuid(), "Only memories of the participants of this chat."));
        all.push(parameter("source_agent_id", uuid(), "Only memories stored by this agent."));
        all
    }
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<ListMemoriesQuery>,
    memories: web::Data<MemoryService>,
) -> Result<HttpResponse, ApiError> {
    let ListMemoriesQuery { common, listing, scope } = query;
    let text = |id: Option<String>| id.unwrap_or_default();
    let scope = CursorScope::list("me/memories")
        .of(caller.user.uuid())
        .filtered("scope", scope)
        .filtered("chat_room_id", &text(listing.room.map(|id| id.to_string())))
        .filtered("source_agent_id", &text(listing.source.map(|id| id.to_string())));
    let window = common.page.clone().window(common.scope(scope))?;
    let page = memories.list_for_human(caller, listing, window.request.clone()).await?;
    window.whole(&page)?;
    let rows = page.rows.iter().map(MemoryView::new);
    Ok(window.mark(List::ok_with_meta(rows, window.metadata(&page))))
}
