//! `POST /chats`.

use actix_web::{HttpResponse, web};
use domain::chat::ChatService;
use http_wire::auth::AgentAuth;
use http_wire::body::CreateChatBody;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::idempotent::IdempotentJson;
use http_wire::view::ChatView;

pub(crate) async fn create(
    AgentAuth(caller): AgentAuth,
    IdempotentJson { body, once, .. }: IdempotentJson<CreateChatBody>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let chat = chats.create_once(caller, body.0, once).await?;
    Ok(Data::created(ChatView::new(&chat)))
}
