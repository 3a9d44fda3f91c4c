//! Failures as clients see them.
//!
//! [`code`] is the table of codes with their statuses, [`mapping`](self) converts every domain error
//! to an [`ApiError`], and [`render`] writes the envelope. Failures that no use case knows (limits,
//! credentials, unreadable requests) are made where they are found, with a code of the table.

pub mod code;
mod mapping;
pub mod render;

use std::error::Error;
use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use actix_web::{HttpResponse, ResponseError};
use serde_json::{Map, Value};

pub use code::ErrorCode;
pub use mapping::unauthorized;
pub(crate) use mapping::{resource_not_found, unknown_attachment};

/// A failure for a client: a code, a message, and optional details.
///
/// `message` and `details` are for the client; the cause is not, and only goes to the log.
pub struct ApiError {
    code: ErrorCode,
    status: StatusCode,
    message: String,
    details: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl ApiError {
    /// A failure with the status of `code`.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            status: code.status(),
            message: message.into(),
            details: Map::new(),
            headers: Vec::new(),
            cause: None,
        }
    }

    /// A 422 `validation_error` without details yet. The details say what to correct; the message is that of
    /// the public API, which clients may compare.
    pub fn validation() -> Self {
        Self::new(ErrorCode::ValidationError, "Request validation failed")
    }

    /// A 500 for a state that only a defect of the server can produce.
    pub fn defect(what: &'static str) -> Self {
        Self::new(ErrorCode::InternalError, render::INTERNAL_MESSAGE).with_cause(what)
    }

    /// Adds the fault of the value at `pointer`, a JSON pointer or a member's bare name.
    pub fn with_detail(mut self, pointer: impl Into<String>, message: impl fmt::Display) -> Self {
        let faults = self.details.entry(pointer).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(faults) = faults {
            faults.push(Value::String(message.to_string()));
        }
        self
    }

    /// Adds members to `details`, replacing those of the same name.
    pub fn with_details(mut self, details: Map<String, Value>) -> Self {
        self.details.extend(details);
        self
    }

    /// Sets `Retry-After`.
    pub fn with_retry_after(mut self, seconds: u32) -> Self {
        self.headers.push((RETRY_AFTER, HeaderValue::from(seconds)));
        self
    }

    /// The same failure with a different status than its code has elsewhere.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Adds a header to the answer.
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Keeps the cause for the log.
    pub fn with_cause(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// The same failure of a body that was sent without its wrapper: `/message/content` becomes
    /// `/content`, so that pointers point into what the client wrote.
    pub fn without_wrapper(mut self, wrapper: &str) -> Self {
        let details = std::mem::take(&mut self.details).into_iter();
        self.details = details
            .map(|(pointer, faults)| {
                let inner = pointer.strip_prefix('/').and_then(|rest| rest.strip_prefix(wrapper));
                match inner {
                    Some(inner) if inner.starts_with('/') => (inner.to_owned(), faults),
                    _ => (pointer, faults),
                }
            })
            .collect();
        self
    }

    /// The code of the failure.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The message for the client.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The faults of single values, for the client.
    pub fn details(&self) -> &Map<String, Value> {
        &self.details
    }
}

impl fmt::Debug for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiError({}: {})", self.code.as_str(), self.message)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl Error for ApiError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        // Only a request scope has the id; it renders again, with it.
        render::response(self, "")
    }
}
