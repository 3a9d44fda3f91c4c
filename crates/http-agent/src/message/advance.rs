//! `POST /chats/{chat_id}/messages/{message_id}/processing`, `/processed` and `/failed`.
//!
//! 200 with a body, or 204 while the agent is stopped in the chat: clients read 204 as stopped, so nothing else
//! returns it. A worker may name its attempt: `/processing` then goes on with it instead of beginning the next one, and the
//! others refuse an attempt that is not the open one. The header `traceparent` repeats that of the message, for the spans of the attempt.

use actix_web::http::header::HeaderName;
use actix_web::{HttpResponse, web};
use domain::caller::AgentCaller;
use domain::delivery::{AdvanceError, AttemptNumber, DeliveryService, DeliveryStep, FailureText};
use http_wire::auth::AgentAuth;
use http_wire::envelope::Data;
use http_wire::error::ApiError;
use http_wire::openapi::schema::some_text;
use http_wire::path::MessagePath;
use http_wire::strict_json::{FromBody, ObjectReader, Rejected, StrictJson};
use http_wire::traceparent::TRACEPARENT;
use http_wire::view::StepView;

/// The attempt of the worker, if it names it. Most clients send no body.
pub(crate) struct AttemptBody {
    attempt: Option<AttemptNumber>,
}

impl FromBody for AttemptBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        Ok(Self { attempt: body.positive_if_given("attempt_number")?.and_then(AttemptNumber::new) })
    }
}

/// The reason of the failure, and the attempt.
pub(crate) struct FailBody {
    error: FailureText,
    attempt: Option<AttemptNumber>,
}

impl FromBody for FailBody {
    fn from_body(body: &mut ObjectReader<'_>) -> Result<Self, Rejected> {
        let error = body.text("error", some_text(FailureText::MAX_CHARS), FailureText::new);
        let AttemptBody { attempt } = AttemptBody::from_body(body)?;
        Ok(Self { error: error?, attempt })
    }
}

pub(crate) async fn processing(
    AgentAuth(caller): AgentAuth,
    path: MessagePath,
    StrictJson { body, .. }: StrictJson<AttemptBody>,
    deliveries: web::Data<DeliveryService>,
) -> Result<HttpResponse, ApiError> {
    let step = body.attempt.map_or(DeliveryStep::Begin, |_| DeliveryStep::Renew);
    advance(&deliveries, caller, path, step, body.attempt).await
}

pub(crate) async fn processed(
    AgentAuth(caller): AgentAuth,
    path: MessagePath,
    StrictJson { body, .. }: StrictJson<AttemptBody>,
    deliveries: web::Data<DeliveryService>,
) -> Result<HttpResponse, ApiError> {
    advance(&deliveries, caller, path, DeliveryStep::Succeed, body.attempt).await
}

pub(crate) async fn failed(
    AgentAuth(caller): AgentAuth,
    path: MessagePath,
    StrictJson { body, .. }: StrictJson<FailBody>,
    deliveries: web::Data<DeliveryService>,
) -> Result<HttpResponse, ApiError> {
    advance(&deliveries, caller, path, DeliveryStep::Fail(body.error), body.attempt).await
}

async fn advance(
    deliveries: &DeliveryService,
    caller: AgentCaller,
    path: MessagePath,
    step: DeliveryStep,
    attempt: Option<AttemptNumber>,
) -> Result<HttpResponse, ApiError> {
    match deliveries.advance_attempt(caller, path.chat, path.message, step, attempt).await {
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
