//! The scope of every request: its id, its log span, and the envelope of its failure.
//!
//! Every response has the id in `x-request-id`. Every response with status 400 or more has an error
//! envelope, including refusals of the framework itself: unknown paths, wrong methods, unreadable
//! headers. The query string is never logged, since old clients put keys there.

use std::cell::OnceCell;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::future::{Future, Ready, ready};
use std::hash::BuildHasher;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ResourceMap, Service, ServiceRequest, ServiceResponse, Transform};
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use actix_web::http::{Method, StatusCode};
use actix_web::{Error, HttpMessage, HttpResponse, ResponseError};
use measure::{RequestSpan, Trace, TraceParent};
use tokio::time::Instant;
use tracing::Instrument;
use tracing::field::{Empty, display};

use crate::browser::{self, PageOrigin};
use crate::error::ApiError;
use crate::error::render::{self, REQUEST_ID_HEADER};
use crate::response_budget::{self, FREE_BYTES, ResponsePermit};
use crate::traceparent;
use crate::tracked_body::TrackedBody;
use crate::turn::Turn;

/// The middleware; wraps the whole application, outermost.
#[derive(Clone, Copy, Debug)]
pub struct RequestScope;

/// Marks, in the extensions of a response, a body that is part of the program: it takes no memory of its own.
#[derive(Clone, Copy, Debug)]
pub struct StaticBody;

/// Marks, in the extensions of a response, a body that is read as its client takes it: it takes little memory, whatever its
/// size.
#[derive(Clone, Copy, Debug)]
pub struct StreamedBody;

/// Marks, in the extensions of a response, a failure whose body is sent as it is.
#[derive(Clone, Copy, Debug)]
pub struct Verbatim;

/// The id of the current request, stored in its extensions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestId(Rc<str>);

impl RequestId {
    /// The maximum size of a client's id.
    const MAX_BYTES: usize = 128;

    /// The client's own id if it is acceptable, else a new one.
    fn of(headers: &HeaderMap) -> Self {
        let sane = |id: &&str| {
            let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            (1..=Self::MAX_BYTES).contains(&id.len()) && id.bytes().all(known)
        };
        let inbound = headers.get(REQUEST_ID_HEADER).and_then(|value| value.to_str().ok()).filter(sane);
        inbound.map_or_else(Self::fresh, |id| Self(id.into()))
    }

    /// 128 bits that reveal nothing and do not repeat in practice: a counter, hashed under a random
    /// key of this process.
    pub(crate) fn fresh() -> Self {
        static KEYS: LazyLock<[RandomState; 2]> = LazyLock::new(|| [RandomState::new(), RandomState::new()]);
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let [high, low] = [KEYS[0].hash_one(number), KEYS[1].hash_one(number)];
        Self(format!("{high:016x}{low:016x}").into())
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<S, B> Transform<S, ServiceRequest> for RequestScope
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse<TrackedBody>;
    type Error = Error;
    type Transform = ScopedService<S>;
    type InitError = ();
    type Future = Ready<Result<Self::Transform, Self::InitError>>;

    fn new_transform(&self, service: S) -> Self::Future {
        ready(Ok(ScopedService { service, routes: Rc::default() }))
    }
}

/// The data for the log line of a request.
struct RequestRecord {
    method: Method,
    started: Instant,
    page: Option<PageOrigin>,
    turn: Option<Turn>,
    span: Option<RequestSpan>,
}

impl RequestRecord {
    /// A request that has just arrived, with its trace if known.
    fn now(request: &ServiceRequest, id: &RequestId) -> (Self, Option<Trace>) {
        let parent = trace_parent(request.headers());
        // A span has its name from the start, as it may end without a response. Without one, no
        // path is compared with the patterns before routing.
        let route = || named(request.match_pattern());
        let span = RequestSpan::begin(request.method().as_str(), route, id.as_str(), parent.as_ref());
        let trace = span.as_ref().map(RequestSpan::trace).or_else(|| parent.as_ref().map(TraceParent::trace));
        let turn = Turn::of(request);
        if let Some(turn) = &turn {
            turn.begin(request);
        }
        let (method, page) = (request.method().clone(), PageOrigin::of(request));
        (Self { method, started: Instant::now(), page, turn, span }, trace)
    }

    fn answered(&self, route: &str, status: StatusCode) {
        if let Some(turn) = &self.turn {
            turn.end(status);
        }
        if let Some(span) = &self.span {
            span.answered(status.as_u16());
        }
        let took = self.started.elapsed();
        measure::request(route, self.method.as_str(), status.as_u16(), took);
        tracing::debug!(
            http.route = route,
            http.status = status.as_u16(),
            duration_us = took.as_micros(),
            "request completed"
        );
    }
}

/// The name of a route: its pattern, if there is one for the path.
fn named(pattern: Option<String>) -> String {
    pattern.unwrap_or_else(|| "none".to_owned())
}

/// The trace of the client, with its state.
fn trace_parent(headers: &HeaderMap) -> Option<TraceParent> {
    let parent = traceparent::read(headers)?;
    let state = headers.get("tracestate").and_then(|state| state.to_str().ok());
    Some(TraceParent::new(parent.trace(), parent.span(), parent.is_sampled(), state))
}

/// The application inside the scope.
#[derive(Debug)]
pub struct ScopedService<S> {
    service: S,
    /// The application's patterns, once a request has brought them: an error has no request to read
    /// them from.
    routes: Rc<OnceCell<ResourceMap>>,
}

impl<S, B> Service<ServiceRequest> for ScopedService<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse<TrackedBody>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>>>>;

    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&self, request: ServiceRequest) -> Self::Future {
        let id = RequestId::of(request.headers());
        let (record, trace) = RequestRecord::now(&request, &id);
        // An error's span, so that a line of any level carries the id.
        let span = tracing::error_span!(
            "request", request.id = id.as_str(), http.method = %request.method(), trace.id = Empty
        );
        if let Some(trace) = trace {
            span.record("trace.id", display(trace));
        }
        request.extensions_mut().insert(id.clone());
        if record.page.is_some()
            && let Some(answer) = PageOrigin::preflight(&request)
        {
            let answer = request.into_response(answer);
            return Box::pin(async move { Ok(finish(answer, &id, &record)) });
        }
        self.routes.get_or_init(|| request.resource_map().clone());
        let (routes, uri) = (self.routes.clone(), request.uri().clone());
        let traced = record.span.clone();
        let inside = traced.as_ref().map(RequestSpan::enter);
        let answer = span.in_scope(|| self.service.call(request));
        drop(inside);
        let settled = async move {
            match answer.await {
                Ok(response) => Ok(settle(response, &id, &record)),
                Err(error) => {
                    let route = named(routes.get().and_then(|routes| routes.match_pattern(uri.path())));
                    Err(refuse(error, id, &record, &route))
                }
            }
        };
        let settled = settled.instrument(span);
        match traced {
            None => Box::pin(settled),
            Some(traced) => Box::pin(traced.around(settled)),
        }
    }
}

/// Adds the id to a response and the envelope to a failure, and writes a log line.
fn settle<B: MessageBody + 'static>(
    response: ServiceResponse<B>,
    id: &RequestId,
    record: &RequestRecord,
) -> ServiceResponse<TrackedBody> {
    let status = response.status();
    let failed = status.is_client_error() || status.is_server_error();
    let failed = failed && !response.response().extensions().contains::<Verbatim>();
    let response = if failed {
        let (request, failure) = response.into_parts();
        with_failure(failure.status(), failure.error(), render::note);
        let enveloped = envelope(failure.status(), failure.error(), failure.headers(), id);
        ServiceResponse::new(request, enveloped)
    } else {
        response.map_into_boxed_body()
    };
    finish(response, id, record)
}

/// The permit for a response, if its size needs one; a static body does not.
fn response_permit(response: &ServiceResponse<BoxBody>) -> Result<Option<ResponsePermit>, ApiError> {
    match response.response().body().size() {
        BodySize::Sized(bytes) if bytes > FREE_BYTES && !is_free(response) => {
            response_budget::charge(response.request(), bytes)
        }
        _ => Ok(None),
    }
}

/// Returns whether the body takes no memory: it is part of the program, or is read in small pieces.
fn is_free(response: &ServiceResponse<BoxBody>) -> bool {
    let extensions = response.response().extensions();
    extensions.contains::<StaticBody>() || extensions.contains::<StreamedBody>()
}

/// Adds the common headers to a response. One beyond the budget is replaced by a refusal, unless it
/// reports the result of a change: that is not charged, and is dropped if the client does not read.
fn finish(
    response: ServiceResponse<BoxBody>,
    id: &RequestId,
    record: &RequestRecord,
) -> ServiceResponse<TrackedBody> {
    let (mut response, permit) = match response_permit(&response) {
        Ok(permit) => (response, permit),
        Err(_) if !record.method.is_safe() => (response, None),
        Err(error) => {
            // No line for each: a client that does not read causes many.
            measure::refused(error.code().as_str());
            (response.into_response(render::response(&error, id.as_str())), None)
        }
    };
    add_headers(response.headers_mut(), id, record.page.as_ref());
    // Routing has left it with the request; a path that was not routed is looked up.
    let route = named(response.request().match_pattern());
    record.answered(&route, response.status());
    let turn = record.turn.clone();
    response.map_body(|_, body| TrackedBody::new(body, turn, permit))
}

fn add_headers(headers: &mut HeaderMap, id: &RequestId, page: Option<&PageOrigin>) {
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        headers.insert(REQUEST_ID_HEADER, value);
    }
    browser::add_headers(headers, page);
}

/// Passes a failure to `use_it`: an own error as it is, any other by its status.
fn with_failure<R>(status: StatusCode, error: Option<&Error>, use_it: impl FnOnce(&ApiError) -> R) -> R {
    match (error.and_then(Error::as_error::<ApiError>), error) {
        (Some(known), _) => use_it(known),
        (None, Some(foreign)) => use_it(&ApiError::of_status(status).with_cause(foreign.to_string())),
        (None, None) => use_it(&ApiError::of_status(status)),
    }
}

/// The failure as an envelope; headers with more information, such as `allow`, stay.
fn envelope(status: StatusCode, error: Option<&Error>, headers: &HeaderMap, id: &RequestId) -> HttpResponse {
    let mut enveloped = with_failure(status, error, |error| render::response(error, id.as_str()));
    for (name, value) in headers {
        let about_body = [CONTENT_TYPE, CONTENT_LENGTH, TRANSFER_ENCODING].contains(name);
        if !about_body && !enveloped.headers().contains_key(name) {
            enveloped.headers_mut().append(name.clone(), value.clone());
        }
    }
    enveloped
}

/// A failure before the handler, from another middleware.
fn refuse(error: Error, id: RequestId, record: &RequestRecord, route: &str) -> Error {
    let status = error.as_response_error().status_code();
    with_failure(status, Some(&error), render::note);
    record.answered(route, status);
    // The framework writes it at once.
    if let Some(turn) = &record.turn {
        turn.sent();
    }
    Refusal { error, id, page: record.page.clone() }.into()
}

#[derive(Debug)]
struct Refusal {
    error: Error,
    id: RequestId,
    page: Option<PageOrigin>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        self.error.as_response_error().status_code()
    }

    fn error_response(&self) -> HttpResponse {
        let own = self.error.error_response();
        let mut enveloped = envelope(own.status(), Some(&self.error), own.headers(), &self.id);
        add_headers(enveloped.headers_mut(), &self.id, self.page.as_ref());
        enveloped
    }
}
