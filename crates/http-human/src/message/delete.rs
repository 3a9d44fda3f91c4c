//! `DELETE /chats/{chat_id}/messages/{message_id}`.

use actix_web::{HttpResponse, web};
use domain::message::MessageService;
use http_wire::auth::UserAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::MessagePath;
use http_wire::query::{NoQuery, StrictQuery};
use http_wire::view::MessageView;

pub(crate) async fn remove(
    UserAuth(caller): UserAuth,
    path: MessagePath,
    _: StrictQuery<NoQuery>,
    messages: web::Data<MessageService>,
) -> Result<HttpResponse, ApiError> {
    let deleted = messages.delete(caller, path.chat, path.message).await?;
    Ok(Data::ok(MessageView::for_user(&deleted)))
}
