//! `GET /memories`: the memories that the user can read, newest first.

use actix_web::{HttpResponse, web};
use domain::id::{AgentId, ChatId};
use domain::memory::{HumanScope, MemoriesOfHuman, MemoryService};
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::{List, ok_off_thread};
use http_wire::error::ApiError;
use http_wire::memories::MemoryListQuery;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::MemoryView;

/// The values of `scope`.
const SCOPES: [(&str, HumanScope); 4] = [
    ("all", HumanScope::All),
    ("about_me", HumanScope::AboutMe),
    ("organization", HumanScope::Organization),
    ("room", HumanScope::Chat),
];

pub(crate) struct ListMemoriesQuery {
    common: MemoryListQuery,
    listing: MemoriesOfHuman,
    scope: &'static str,
}

impl FromQuery for ListMemoriesQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let common = MemoryListQuery::from_query(query);
        let scope = query.named("scope", &SCOPES, "Only memories with this relation to the caller.");
        let description = "Only memories of the participants of this chat.";
        let chat = query.id("chat_room_id", description, ChatId::parse);
        let source = query.id("source_agent_id", "Only memories stored by this agent.", AgentId::parse);
        let ((word, scope), common) = (scope?.unwrap_or(SCOPES[0]), common?);
        let listing = MemoriesOfHuman { filter: common.filter.clone(), scope, chat: chat?, source: source? };
        Ok(Self { common, listing, scope: word })
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
        .filtered("chat_room_id", &text(listing.chat.map(|id| id.to_string())))
        .filtered("source_agent_id", &text(listing.source.map(|id| id.to_string())));
    let window = common.page.clone().window(common.scope(scope))?;
    let page = memories.list_for_human(caller, listing, window.request.clone()).await?;
    window.whole(&page)?;
    let metadata = window.metadata(&page);
    let list = ok_off_thread(MemoryView::bytes(&page.rows), move || {
        List::with_meta(page.rows.iter().map(MemoryView::new), metadata).encode()
    });
    Ok(window.mark(list.await?))
}
