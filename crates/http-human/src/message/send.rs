//! `POST /chats/{chat_id}/messages`.

use actix_web::{HttpResponse, web};
use domain::message::MessageService;
use http_wire::auth::UserAuth;
use http_wire::body::SendMessageBody;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::path::ChatPath;
use http_wire::strict_json::StrictJson;
use http_wire::view::SentMessageView;

pub(crate) async fn send(
    UserAuth(caller): UserAuth,
    path: ChatPath,
    StrictJson { body, form }: StrictJson<SendMessageBody>,
    messages: web::Data<MessageService>,
) -> Result<HttpResponse, ApiError> {
    let command = body.into_command().map_err(|error| form.explain(error))?;
    let sent = messages.send(caller, path.chat, command).await.map_err(|error| form.explain(error))?;
    Ok(Data::created(SentMessageView::new(&sent)))
}
