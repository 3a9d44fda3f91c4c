//! What the browser allows the console to do, and which requests come from a browser.

use actix_web::HttpRequest;
use actix_web::http::header::{
    ACCEPT, CONTENT_SECURITY_POLICY, CROSS_ORIGIN_OPENER_POLICY, CROSS_ORIGIN_RESOURCE_POLICY, HeaderMap,
    HeaderName, HeaderValue, PERMISSIONS_POLICY,
};

/// Nothing but the console's own files and its own server, pictures that the page itself has fetched (`blob:`), and no
/// text ever becomes HTML. The one trusted type is the path of the service worker.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
     worker-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types worker",
);

/// The headers of every file, besides those of every response.
pub(crate) const HEADERS: [(HeaderName, HeaderValue); 4] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (CROSS_ORIGIN_OPENER_POLICY, HeaderValue::from_static("same-origin")),
    (CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("same-origin")),
    (
        PERMISSIONS_POLICY,
        HeaderValue::from_static("camera=(), microphone=(), geolocation=(), clipboard-read=()"),
    ),
];

/// Returns whether a person's browser asks for a page.
pub(crate) fn wants_page(request: &HttpRequest) -> bool {
    let names_html = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains("text/html"));
    request.headers().get(ACCEPT).is_some_and(names_html)
}

/// Returns whether a request to change something comes from a page of this server, or from no page at all. Browsers say
/// which (`Sec-Fetch-Site`); older ones name the page's origin.
pub(crate) fn is_own(headers: &HeaderMap, host: &str) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin";
    }
    let Some(origin) = headers.get("origin") else { return true };
    let origin_host = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    origin_host.is_some_and(|named| named.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn only_own_pages_and_programs_pass() {
        for (headers, passes) in [
            (vec![], true),
            (vec![("sec-fetch-site", "same-origin")], true),
            (vec![("sec-fetch-site", "same-site")], false),
            (vec![("sec-fetch-site", "cross-site")], false),
            (vec![("sec-fetch-site", "none")], false),
            (vec![("sec-fetch-site", "cross-site"), ("origin", "http://here:4000")], false),
            (vec![("origin", "http://here:4000")], true),
            (vec![("origin", "https://HERE:4000")], true),
            (vec![("origin", "http://here")], false),
            (vec![("origin", "http://elsewhere:4000")], false),
            (vec![("origin", "null")], false),
        ] {
            let mut request = TestRequest::post();
            for header in &headers {
                request = request.insert_header(*header);
            }
            let request = request.to_http_request();
            assert_eq!(is_own(request.headers(), "here:4000"), passes, "{headers:?}");
        }
    }
}
