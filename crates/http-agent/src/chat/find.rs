//! `GET /chats/{chat_id}`.

use actix_web::{HttpResponse, web};
use domain::chat::ChatService;
use http_wire::auth::AgentAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::ChatPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::view::ChatView;

pub(crate) async fn find(
    AgentAuth(caller): AgentAuth,
    path: ChatPath,
    _: StrictQuery<NoQuery>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let chat = chats.find(caller, path.chat).await?;
    Ok(Data::ok(ChatView::new(&chat)))
}
