//! `POST /chats/{chat_id}/messages/{message_id}/processing`, `/processed` and `/failed`.
//!
//! 200 with a body, or 204 while the agent is stopped in the chat: clients read 204 as stopped, so nothing else
//! returns it. The header `traceparent` repeats that of the message, for the spans of the attempt.

use actix_web::http::header::HeaderName;
use actix_web::{HttpResponse, web};
use domain::caller::AgentCaller;
use domain::delivery::{AdvanceError, DeliveryService, DeliveryStep, FailureText};
use http_wire::auth::AgentAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::openapi::schema::some_text;
use http_wire::path::MessagePath;
use http_wire::strict_json::{FromBody, NoBody, ObjectReader, Rejected, StrictJson};
use http_wire::traceparent::TRACEPARENT;
use http_wire::view::StepView;

/// The reason of the failure.
pub(crate) struct FailBody {
    error: FailureText,
}

impl FromBody for FailBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        Ok(Self { error: body.text("error", some_text(FailureText::MAX_CHARS), FailureText::new)? })
    }
}

pub(crate) async fn processing(
    AgentAuth(caller): AgentAuth,
    path: MessagePath,
    _: StrictJson<NoBody>,
    deliveries: web::Data<DeliveryService>,
) -> Result<HttpResponse, ApiError> {
    advance(&deliveries, caller, path, DeliveryStep::Begin).await
}

pub(crate) async fn processed(
    AgentAuth(caller): AgentAuth,
    path: MessagePath,
    _: StrictJson<NoBody>,
    deliveries: web::Data<DeliveryService>,
) -> Result<HttpResponse, ApiError> {
    advance(&deliveries, caller, path, DeliveryStep::Succeed).await
}

pub(crate) async fn failed(
    AgentAuth(caller): AgentAuth,
    path: MessagePath,
    StrictJson { body, .. }: StrictJson<FailBody>,
    deliveries: web::Data<DeliveryService>,
) -> Result<HttpResponse, ApiError> {
    advance(&deliveries, caller, path, DeliveryStep::Fail(body.error)).await
}

async fn advance(
    deliveries: &DeliveryService,
    caller: AgentCaller,
    path: MessagePath,
    step: DeliveryStep,
) -> Result<HttpResponse, ApiError> {
    match deliveries.advance(caller, path.chat, path.message, step).await {
        Ok(step) => {
            let mut response = Data::ok(StepView::new(&step));
            if let Some(traceparent) = step.traceparent.and_then(|at| at.to_string().parse().ok()) {
                response.headers_mut().insert(HeaderName::from_static(TRACEPARENT), traceparent);
            }
            Ok(response)
        }
        Err(AdvanceError::Stopped) => Ok(HttpResponse::NoContent().finish()),
        Err(error) => Err(error.into()),
    }
}
