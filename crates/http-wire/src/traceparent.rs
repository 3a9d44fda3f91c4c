//! The header `traceparent`: the trace that a client states, and that of a message.

use std::convert::Infallible;
use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header::HeaderMap;
use actix_web::{FromRequest, HttpRequest};
use domain::message::TraceParent;

/// The name of the header.
pub const TRACEPARENT: &str = "traceparent";

/// The trace that a client states. A malformed or repeated header is ignored, as the standard wants.
pub fn read(headers: &HeaderMap) -> Option<TraceParent> {
    let mut stated = headers.get_all(TRACEPARENT);
    let stated = stated.next().filter(|_| stated.next().is_none())?;
    stated.to_str().ok()?.parse().ok()
}

/// The trace that the request states.
#[derive(Clone, Copy, Debug)]
pub struct StatedTrace(pub Option<TraceParent>);

impl FromRequest for StatedTrace {
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(read(request.headers()))))
    }
}
