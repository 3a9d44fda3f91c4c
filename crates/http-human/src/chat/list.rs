//! `GET /chats`: newest first.

use actix_web::{HttpResponse, web};
use domain::chat::ChatService;
use http_wire::auth::UserAuth;
use http_wire::cursor::CursorScope;
use http_wire::envelope::List;
use http_wire::error::ApiError;
use http_wire::page::PageQuery;
use http_wire::query::{FromQuery, QueryReader, StrictQuery};
use http_wire::strict_json::Told;
use http_wire::view::ChatView;

use crate::DEFAULT_ROWS;

pub(crate) struct ListChatsQuery {
    page: PageQuery,
}

impl FromQuery for ListChatsQuery {
    fn from_query(query: &mut QueryReader) -> Result<Self, Told> {
        Ok(Self { page: PageQuery::read(query)? })
    }
}

pub(crate) async fn list(
    UserAuth(caller): UserAuth,
    StrictQuery(query): StrictQuery<ListChatsQuery>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let scope = CursorScope::list("me/chats").of(caller.user.uuid());
    let window = query.page.window(scope, DEFAULT_ROWS)?;
    let page = chats.list(caller, window.request).await?;
    Ok(List::ok(page.rows.iter().map(ChatView::new), window.metadata(&page)))
}
