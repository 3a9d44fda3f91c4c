//! Sending messages.

use actix_web::{HttpResponse, web};
use domain::message::MessageService;

use crate::auth::CallerExtractor;
use crate::body::SendMessageBody;
use crate::envelope::Data;
use crate::error::ApiError;
use crate::idempotent::IdempotentJson;
use crate::path::ChatPath;
use crate::view::SentMessageView;

/// `POST /chats/{chat_id}/messages`.
pub async fn send<C: CallerExtractor>(
    caller: C,
    path: ChatPath,
    IdempotentJson { body, form, once }: IdempotentJson<SendMessageBody>,
    messages: web::Data<MessageService>,
) -> Result<HttpResponse, ApiError> {
    let command = body.into_command().map_err(|error| form.explain(error))?;
    let sent = messages.send_once(caller, path.chat, command, once).await;
    let sent = sent.map_err(|error| form.explain(error))?;
    Ok(Data::created(SentMessageView::new(&sent)))
}
