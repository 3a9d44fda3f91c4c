//! `PATCH /chats/{chat_id}`: changes the title, or the default deadline.

use actix_web::{HttpResponse, web};
use domain::chat::ChatService;
use http_wire::auth::AgentAuth;
use http_wire::body::RenameChatBody;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::ChatPath;
use http_wire::strict_json::StrictJson;
use http_wire::view::ChatView;

pub(crate) async fn rename(
    AgentAuth(caller): AgentAuth,
    path: ChatPath,
    StrictJson { body, .. }: StrictJson<RenameChatBody>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let renamed = chats.rename(caller, path.chat, body.0).await?;
    Ok(Data::ok(ChatView::new(&renamed.chat)))
}
