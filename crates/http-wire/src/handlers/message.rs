//! Sending messages, and reading their receipts.

use actix_web::{HttpResponse, web};
use domain::caller::Caller;
use domain::delivery::DeliveryService;
use domain::message::{MessageService, SendHeaders};
use domain::reminder::ReminderService;

use super::reminder;
use crate::auth::CallerExtractor;
use crate::body::SendMessageBody;
use crate::envelope::Data;
use crate::error::ApiError;
use crate::idempotent::IdempotentJson;
use crate::path::{ChatPath, MessagePath};
use crate::query::{NoQuery, StrictQuery};
use crate::traceparent::StatedTrace;
use crate::view::{ReceiptView, SentMessageView};

/// `POST /chats/{chat_id}/messages`.
pub async fn send<C: CallerExtractor>(
    caller: C,
    path: ChatPath,
    StatedTrace(traceparent): StatedTrace,
    IdempotentJson { body, form, once }: IdempotentJson<SendMessageBody>,
    messages: web::Data<MessageService>,
    reminders: web::Data<ReminderService>,
) -> Result<HttpResponse, ApiError> {
    let headers = SendHeaders { once, traceparent, client_id: None };
    if body.is_scheduled() {
        let caller: Caller = caller.into();
        let command = body.into_scheduled().map_err(|error| form.explain(error))?;
        let scheduled = reminders.schedule(caller, path.chat, command, headers).await;
        return Ok(reminder::scheduled(caller, &scheduled.map_err(|error| form.explain(error))?));
    }
    let command = body.into_command().map_err(|error| form.explain(error))?;
    let sent = messages.send_once(caller, path.chat, command, headers).await;
    let sent = sent.map_err(|error| form.explain(error))?;
    Ok(Data::created(SentMessageView::new(&sent, |recipient, state| messages.is_connected(recipient, state))))
}

/// `GET /chats/{chat_id}/messages/{message_id}/receipts`.
pub async fn receipts<C: CallerExtractor>(
    caller: C,
    path: MessagePath,
    _: StrictQuery<NoQuery>,
    deliveries: web::Data<DeliveryService>,
) -> Result<HttpResponse, ApiError> {
    let receipts = deliveries.receipts(caller, path.chat, path.message).await?;
    let shown = receipts.iter().map(|receipt| ReceiptView::new(receipt, deliveries.is_connected(receipt)));
    Ok(Data::ok(shown.collect::<Vec<_>>()))
}
