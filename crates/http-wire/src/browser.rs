//! Headers for browsers: that a response is data and nothing else, and which origins may read it.
//!
//! Pages of other origins can read nothing unless an operator has listed them. The only cookie is that of
//! `/console/session`, which pages of other origins can never use, so a page that may read a response must bring a
//! key or token of its own.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, CACHE_CONTROL,
    CONTENT_SECURITY_POLICY, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpResponse};

use crate::error::{ApiError, ErrorCode};

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
    "a2a-extensions, a2a-version, authorization, content-type, idempotency-key, if-none-match, if-range, last-event-id, mcp-method, mcp-name, \
     mcp-protocol-version, mcp-session-id, range, traceparent, x-api-key, x-file-name, x-file-sha256, x-request-id",
);

/// The headers that a page may read.
const READ: HeaderValue = HeaderValue::from_static(
    "accept-ranges, content-disposition, content-range, etag, location, retry-after, traceparent, x-ratelimit-limit, \
     x-ratelimit-remaining, x-ratelimit-reset, x-request-id",
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

/// Refuses requests of pages whose origin is not allowed: they may neither read the response nor have any effect. Pages of
/// this server are allowed under a name of the loopback address, which no other site can have.
pub async fn allowed_pages_only<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let is_allowed = PageOrigin::of(&request).is_some() || is_own_loopback_page(request.headers());
    if request.headers().contains_key(ORIGIN) && !is_allowed {
        let message =
            "Pages of this origin may not use this path. Ask the operator to add the origin to cors_origins.";
        return Err(ApiError::new(ErrorCode::Forbidden, message).into());
    }
    next.call(request).await
}

/// Returns whether the page has the address at which it reaches this server, and that is a loopback address.
fn is_own_loopback_page(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(origin), Some(host)) = (text(ORIGIN), text(HOST)) else { return false };
    let address = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    address == Some(host) && ["localhost", "127.0.0.1", "[::1]"].contains(&name)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_pages_have_the_address_of_the_server() {
        let is_own = |origin: &'static str, host: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ORIGIN, HeaderValue::from_static(origin));
            headers.insert(HOST, HeaderValue::from_static(host));
            is_own_loopback_page(&headers)
        };
        for (origin, host) in [
            ("http://localhost:4000", "localhost:4000"),
            ("https://127.0.0.1", "127.0.0.1"),
            ("http://[::1]:4000", "[::1]:4000"),
        ] {
            assert!(is_own(origin, host), "{origin} {host}");
        }
        for (origin, host) in [
            ("http://evil.example.org", "evil.example.org"),
            ("http://localhost:4001", "localhost:4000"),
            ("http://localhost.example.org", "localhost.example.org"),
            ("null", "localhost:4000"),
        ] {
            assert!(!is_own(origin, host), "{origin} {host}");
        }
        assert!(!is_own_loopback_page(&HeaderMap::new()));
    }
}
