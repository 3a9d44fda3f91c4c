//! `POST /chats/{chat_id}/messages`.

use actix_web::{HttpResponse, web};
use domain::message::MessageService;
use http_wire::auth::AgentAuth;
use http_wire::body::SendMessageBody;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::idempotent::IdempotentJson;
use http_wire::path::ChatPath;
use http_wire::view::SentMessageView;

pub(crate) async fn send(
    AgentAuth(caller): AgentAuth,
    path: ChatPath,
    IdempotentJson { body, form, once }: IdempotentJson<SendMessageBody>,
    messages: web::Data<MessageService>,
) -> Result<HttpResponse, ApiError> {
    let command = body.into_command().map_err(|error| form.explain(error))?;
    let sent = messages.send_once(caller, path.chat, command, once).await;
    let sent = sent.map_err(|error| form.explain(error))?;
    Ok(Data::created(SentMessageView::new(&sent)))
}
