//! What is said to browsers: that an answer is data and nothing else, and whose pages may read it.
//!
//! Pages of other origins read nothing unless an operator has named them. No cookie is ever a credential
//! here, so a page that may read an answer has to bring a key or token of its own.

use actix_web::HttpResponse;
use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, CACHE_CONTROL,
    CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use actix_web::web::Data;

/// Whose pages may read answers; registered as `web::Data`, none without it.
#[derive(Clone, Debug, Default)]
pub struct AllowedOrigins {
    /// Those of everybody.
    pub all: bool,
    /// Those of these origins, as browsers write them.
    pub origins: Vec<String>,
}

/// What a page may send beside a simple request.
const SENT: HeaderValue =
    HeaderValue::from_static("authorization, content-type, idempotency-key, x-api-key, x-request-id");

/// What a page may read beside the body.
const READ: HeaderValue = HeaderValue::from_static(
    "retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-request-id",
);

/// For what a page may ask.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");

/// What every answer says, unless it says something else about the same.
const SAFE: [(HeaderName, HeaderValue); 5] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// A page that asks, whose origin may.
#[derive(Clone, Debug)]
pub(crate) struct Page(HeaderValue);

impl Page {
    /// The page that the request comes from, if it may read the answer.
    pub(crate) fn of(request: &ServiceRequest) -> Option<Self> {
        let allowed = request.app_data::<Data<AllowedOrigins>>()?;
        let origin = request.headers().get(ORIGIN)?;
        let named = || allowed.origins.iter().any(|one| one.as_bytes() == origin.as_bytes());
        (allowed.all || named()).then(|| Self(origin.clone()))
    }

    /// The answer to a browser that asks before it sends, if that is what the request is.
    pub(crate) fn preflight(request: &ServiceRequest) -> Option<HttpResponse> {
        let asks = request.method() == Method::OPTIONS
            && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        asks.then(|| {
            HttpResponse::NoContent()
                .insert_header((ACCESS_CONTROL_ALLOW_METHODS, METHODS))
                .insert_header((ACCESS_CONTROL_ALLOW_HEADERS, SENT))
                .insert_header((ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600")))
                .finish()
        })
    }
}

/// Says to the browser how the answer is to be taken, and that `page` may read it.
pub(crate) fn tell(headers: &mut HeaderMap, page: Option<&Page>) {
    for (name, value) in SAFE {
        if !headers.contains_key(&name) {
            headers.insert(name, value);
        }
    }
    if let Some(Page(origin)) = page {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, READ);
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
}
