//! `DELETE /chats/{chat_id}`: deletes a chat for all participants.

use actix_web::{HttpResponse, web};
use domain::chat::ChatService;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::ChatPath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::view::ChatView;

pub(crate) async fn remove(
    UserAuth(caller): UserAuth,
    path: ChatPath,
    _: StrictQuery<NoQuery>,
    chats: web::Data<ChatService>,
) -> Result<HttpResponse, ApiError> {
    let deleted = chats.delete(caller, path.chat).await?;
    Ok(Data::ok(ChatView::new(&deleted)))
}
