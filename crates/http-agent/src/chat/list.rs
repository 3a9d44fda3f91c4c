//! `GET /chats`: newest first, by page numbers.

use actix_web::{HttpResponse, web};
use domain::chat::ChatService;
use http_wire::auth::AgentAuth;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::page::{NumberedMetadata, NumberedQuery};
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Told;
use http_wire::view::ChatView;

/// Rows on a page when nothing is said.
const DEFAULT_ROWS: u32 = 20;

pub(crate) struct ListChatsQuery {
    page: NumberedQuery,
}

impl FromQuery for ListChatsQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Told> {
        Ok(Self { page: NumberedQuery::read(query)? })
    }
}

pub(crate) async fn list(
    AgentAuth(caller): AgentAuth,
    StrictQuery(query): StrictQuery<ListChatsQuery>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let request = query.page.request(DEFAULT_ROWS);
    let page = chats.list(caller, request).await?;
    Ok(List::ok(page.rows.iter().map(ChatView::new), NumberedMetadata::of(request, page.total)))
}
