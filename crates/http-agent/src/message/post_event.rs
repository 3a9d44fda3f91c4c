//! `POST /chats/{chat_id}/events`.

use actix_web::{HttpResponse, web};
use domain::message::{EventContent, EventMetadata, MessageKind, MessageService, PostEvent, SendHeaders};
use http_wire::auth::AgentAuth;
use http_wire::body::in_reply_to;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::idempotent::IdempotentJson;
use http_wire::openapi::schema::{some_text, word};
use http_wire::path::ChatPath;
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, known};
use http_wire::traceparent::StatedTrace;
use http_wire::view::PostedEventView;

/// Every kind but text.
const EVENTS: &[&str] = &["tool_call", "tool_result", "thought", "error", "task", "attention"];

/// A record of the agent's work.
pub(crate) struct PostEventBody(PostEvent);

impl FromBody for PostEventBody {
    const WRAPPER: Option<&'static str> = Some("event");

    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let event = |text: &str| MessageKind::parse(text).filter(|kind| kind.is_event());
        let kind = body.text("message_type", word(EVENTS), known(event));
        let content = body.text("content", some_text(16_384), EventContent::new);
        let metadata = body.free_object("metadata", EventMetadata::new);
        let in_reply_to = in_reply_to(body);
        let (kind, content, metadata) = (kind?, content?, metadata?);
        Ok(Self(PostEvent { kind, content, metadata, in_reply_to: in_reply_to? }))
    }
}

pub(crate) async fn post_event(
    AgentAuth(caller): AgentAuth,
    path: ChatPath,
    StatedTrace(traceparent): StatedTrace,
    IdempotentJson { body, form, once }: IdempotentJson<PostEventBody>,
    messages: web::Data<MessageService>,
) -> Result<HttpResponse, ApiError> {
    let headers = SendHeaders { once, traceparent, client_id: None };
    let event = messages.post_event_once(caller, path.chat, body.0, headers).await;
    let event = event.map_err(|error| form.explain(error))?;
    Ok(Data::created(PostedEventView::new(&event)))
}
