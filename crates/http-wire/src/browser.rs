//! Headers for browsers: that a response is data and nothing else, and which origins may read it.
//!
//! Pages of other origins can read nothing unless an operator has listed them. The only cookie is that of
//! `/console/session`, which pages of other origins can never use, so a page that may read a response must bring a
//! key or token of its own.

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

/// The origins whose pages may read responses; registered as `web::Data`, none without it.
#[derive(Clone, Debug, Default)]
pub struct AllowedOrigins {
    /// Allows all origins.
    pub all: bool,
    /// The allowed origins, as browsers write them.
    pub origins: Vec<String>,
}

/// The headers that a page may send beyond a simple request.
const SENT: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, idempotency-key, traceparent, x-api-key, x-request-id",
);

/// The headers that a page may read.
const READ: HeaderValue = HeaderValue::from_static(
    "retry-after, traceparent, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-request-id",
);

/// The methods that a page may use.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");

/// The headers of every response, unless it sets them itself.
const SAFE: [(HeaderName, HeaderValue); 5] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// The requesting page, if its origin is allowed.
#[derive(Clone, Debug)]
pub(crate) struct PageOrigin(HeaderValue);

impl PageOrigin {
    /// The page that the request comes from, if it may read the response.
    pub(crate) fn of(request: &ServiceRequest) -> Option<Self> {
        // The console is for its own pages.
        if request.path().starts_with("/console/") {
            return None;
        }
        let allowed = request.app_data::<Data<AllowedOrigins>>()?;
        let origin = request.headers().get(ORIGIN)?;
        let named = || allowed.origins.iter().any(|one| one.as_bytes() == origin.as_bytes());
        (allowed.all || named()).then(|| Self(origin.clone()))
    }

    /// The response to a preflight request, if it is one.
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

/// Adds the headers for browsers, and allows `page` to read the response.
pub(crate) fn add_headers(headers: &mut HeaderMap, page: Option<&PageOrigin>) {
    for (name, value) in SAFE {
        if !headers.contains_key(&name) {
            headers.insert(name, value);
        }
    }
    if let Some(PageOrigin(origin)) = page {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, READ);
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
}
