//! `PATCH /chats/{chat_id}/messages/{message_id}`: changes the content.

use actix_web::{HttpResponse, web};
use domain::message::MessageService;
use http_wire::auth::UserAuth;
use http_wire::body::EditMessageBody;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::MessagePath;
use http_wire::strict_json::StrictJson;
use http_wire::view::MessageView;

pub(crate) async fn edit(
    UserAuth(caller): UserAuth,
    path: MessagePath,
    StrictJson { body, .. }: StrictJson<EditMessageBody>,
    messages: web::Data<MessageService>,
) -> Result<HttpResponse, ApiError> {
    let edited = messages.edit(caller, path.chat, path.message, body.0).await?;
    Ok(Data::ok(MessageView::for_user(&edited)))
}
