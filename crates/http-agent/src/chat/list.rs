//! `GET /chats`: newest first, by page numbers; `include=participants` shows the first of them.

use actix_web::{HttpResponse, web};
use domain::chat::{ChatListing, ChatParts, ChatService};
use http_wire::auth::AgentAuth;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::page::{NumberedMetadata, NumberedQuery, too_heavy};
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Rejected;
use http_wire::view::AgentListedChatView;

pub(crate) struct ListChatsQuery {
    page: NumberedQuery,
    participants: bool,
}

impl FromQuery for ListChatsQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Rejected> {
        let page = NumberedQuery::from_query(query);
        let included = query.items("include", &[("participants", ())], "What to include in each room.");
        Ok(Self { page: page?, participants: !included?.is_empty() })
    }
}

pub(crate) async fn list(
    AgentAuth(caller): AgentAuth,
    StrictQuery(query): StrictQuery<ListChatsQuery>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let request = query.page.request();
    let parts = ChatParts { participants: query.participants, ..ChatParts::default() };
    let listing = ChatListing { parts, ..ChatListing::default() };
    let page = chats.list_chats(caller, listing, request.clone()).await?;
    if page.is_cut(&request) {
        return Err(too_heavy());
    }
    let rows = page.rows.iter().map(|listed| AgentListedChatView::new(listed, |one| chats.is_online(one)));
    Ok(List::ok(rows, NumberedMetadata::of(&request, page.total)))
}
