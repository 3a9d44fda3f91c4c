//! Writing the envelope `{"error": {code, message, request_id, details?}}`, and the
//! log line that goes with it.

use std::error::Error;

use actix_web::HttpResponse;
use actix_web::body::MessageBody;
use actix_web::http::StatusCode;
use actix_web::http::header::HeaderName;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{ApiError, ErrorCode};
use crate::request_scope::RequestId;

/// The header with the request's id, in every response.
pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

#[derive(Serialize)]
struct Envelope<'a> {
    error: Body<'a>,
}

#[derive(Serialize)]
struct Body<'a> {
    code: &'static str,
    message: &'a str,
    /// Clients cannot parse an error without it.
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Map<String, Value>>,
}

impl ApiError {
    /// The failure for a bare status of at least 400; the status is kept.
    pub(crate) fn of_status(status: StatusCode) -> Self {
        let code = ErrorCode::of_status(status);
        let message = match code {
            ErrorCode::NotFound => {
                "Nothing exists at this path. The API document at /api/v1/openapi.json lists all paths."
            }
            ErrorCode::MethodNotAllowed => {
                "This path does not support this method. Use one that the Allow header lists."
            }
            ErrorCode::RequestTimeout => "The request did not arrive in time. Send it again.",
            ErrorCode::ContentTooLarge => "The request is too large. Send less.",
            ErrorCode::InternalError => INTERNAL_MESSAGE,
            ErrorCode::ServiceUnavailable => {
                "The server cannot handle the request now. Try again in a second."
            }
            _ => {
                "The server cannot read this request. Compare it with the API document at /api/v1/openapi.json."
            }
        };
        Self { status, ..Self::new(code, message) }
    }
}

/// The complete response as bytes, for a connection that is closed before a request is read from
/// it.
pub fn raw(error: &ApiError) -> Vec<u8> {
    let id = RequestId::fresh();
    tracing::debug!(request.id = id.as_str(), error.code = error.code.as_str(), "connection refused");
    let response = response(error, id.as_str());
    let mut answer =
        format!("HTTP/1.1 {}\r\nconnection: close\r\n{REQUEST_ID_HEADER}: ", error.status).into_bytes();
    answer.extend_from_slice(id.as_str().as_bytes());
    for (name, value) in response.headers() {
        answer.extend_from_slice(&[b"\r\n", name.as_str().as_bytes(), b": ", value.as_bytes()].concat());
    }
    let body = response.into_body().try_into_bytes().unwrap_or_default();
    answer.extend_from_slice(format!("\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes());
    answer.extend_from_slice(&body);
    answer
}

/// The client's message for a defect.
pub(super) const INTERNAL_MESSAGE: &str = "The server failed to handle the request. Give the operator the \
 request id. The log has the cause under it.";

/// The complete response.
pub(crate) fn response(error: &ApiError, request_id: &str) -> HttpResponse {
    let mut builder = HttpResponse::build(error.status);
    for (name, value) in &error.headers {
        builder.insert_header((name.clone(), value.clone()));
    }
    if error.status == StatusCode::REQUEST_TIMEOUT {
        // The rest of the request may never come.
        builder.force_close();
    }
    // Every 422 has details: the oldest client cannot parse one without them.
    let wanted = error.status == StatusCode::UNPROCESSABLE_ENTITY || !error.details.is_empty();
    builder.json(Envelope {
        error: Body {
            code: error.code.as_str(),
            message: &error.message,
            request_id,
            details: wanted.then_some(&error.details),
        },
    })
}

/// Logs a failure and counts it.
pub fn note(error: &ApiError) {
    log(error);
    measure::refused(error.code().as_str());
}

/// Logs a failure in one line: a server error with its chain of causes, others at debug level.
fn log(error: &ApiError) {
    let code = error.code.as_str();
    if error.status == StatusCode::SERVICE_UNAVAILABLE {
        tracing::warn!(error.code = code, cause = %Chain(error), "request refused temporarily");
    } else if error.status.is_server_error() {
        tracing::error!(error.code = code, cause = %Chain(error), "request failed");
    } else {
        tracing::debug!(error.code = code, "request refused");
    }
}

/// The causes of a failure, outermost first.
struct Chain<'a>(&'a ApiError);

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.message)?;
        let mut next = self.0.source();
        while let Some(cause) = next {
            write!(f, ": {cause}")?;
            next = cause.source();
        }
        Ok(())
    }
}
