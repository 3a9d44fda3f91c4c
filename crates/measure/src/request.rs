//! Metrics of HTTP requests and connections.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metrics::{counter, histogram};

use crate::{CONNECTIONS_REFUSED, REFUSALS, REQUEST_SECONDS, SPANS_DROPPED, SPANS_SENT, STALLED_CONNECTIONS};

/// Requests since the start of the process, which are counted even without a recorder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestTotals {
    /// Those that were answered.
    pub requests: u64,
    /// Those with a status of the class 4xx.
    pub client_errors: u64,
    /// Those with a status of the class 5xx.
    pub server_errors: u64,
    /// Those that were refused because of a rate limit.
    pub rate_limited: u64,
    /// Those that were refused because of a quota.
    pub limit_reached: u64,
}

static REQUESTS: AtomicU64 = AtomicU64::new(0);
static CLIENT_ERRORS: AtomicU64 = AtomicU64::new(0);
static SERVER_ERRORS: AtomicU64 = AtomicU64::new(0);
static RATE_LIMITED: AtomicU64 = AtomicU64::new(0);
static LIMIT_REACHED: AtomicU64 = AtomicU64::new(0);

/// The requests since the start of the process.
pub fn request_totals() -> RequestTotals {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    RequestTotals {
        requests: read(&REQUESTS),
        client_errors: read(&CLIENT_ERRORS),
        server_errors: read(&SERVER_ERRORS),
        rate_limited: read(&RATE_LIMITED),
        limit_reached: read(&LIMIT_REACHED),
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Records a request that was answered. `route` is the pattern that its path matched.
pub fn request(route: &str, method: &str, status: u16, took: Duration) {
    count(&REQUESTS);
    match status {
        400..500 => count(&CLIENT_ERRORS),
        500.. => count(&SERVER_ERRORS),
        _ => {}
    }
    let (method, status) = (known_method(method), class(status));
    histogram!(REQUEST_SECONDS, "route" => route.to_owned(), "method" => method, "status" => status)
        .record(took.as_secs_f64());
}

/// Counts a request that was answered with the error of this code.
pub fn refused(code: &'static str) {
    match code {
        "rate_limited" | "too_many_requests" => count(&RATE_LIMITED),
        "limit_reached" => count(&LIMIT_REACHED),
        _ => {}
    }
    counter!(REFUSALS, "code" => code).increment(1);
}

/// Counts a connection that was closed on arrival because its address has too many.
pub fn connection_refused() {
    counter!(CONNECTIONS_REFUSED).increment(1);
}

/// Counts a connection that was closed because its client does not read.
pub fn stalled_connection() {
    counter!(STALLED_CONNECTIONS).increment(1);
}

/// Counts spans that the trace collector accepted.
pub fn spans_sent(count: u64) {
    counter!(SPANS_SENT).increment(count);
}

/// Counts spans that were dropped.
pub fn spans_dropped(count: u64) {
    counter!(SPANS_DROPPED).increment(count);
}

pub(crate) fn begin() {
    for never_yet in [CONNECTIONS_REFUSED, STALLED_CONNECTIONS, SPANS_SENT, SPANS_DROPPED] {
        counter!(never_yet).absolute(0);
    }
    for code in [
        "rate_limited",
        "too_many_requests",
        "limit_reached",
        "unauthorized",
        "service_unavailable",
        "internal_error",
    ] {
        counter!(REFUSALS, "code" => code).absolute(0);
    }
}

/// Clients can invent methods, so all unknown ones share one label.
pub(crate) fn known_method(method: &str) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method).unwrap_or("other")
}

const fn class(status: u16) -> &'static str {
    match status / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_without_a_recorder() {
        let before = request_totals();
        for status in [200, 404, 503] {
            request("/", "GET", status, Duration::ZERO);
        }
        for code in ["rate_limited", "too_many_requests", "limit_reached", "not_found"] {
            refused(code);
        }
        let expected = RequestTotals {
            requests: before.requests + 3,
            client_errors: before.client_errors + 1,
            server_errors: before.server_errors + 1,
            rate_limited: before.rate_limited + 2,
            limit_reached: before.limit_reached + 1,
        };
        assert_eq!(request_totals(), expected);
    }

    #[test]
    fn labels_have_few_values() {
        assert_eq!((known_method("GET"), known_method("BREW")), ("GET", "other"));
        assert_eq!([101, 204, 304, 429, 503, 999].map(class), ["1xx", "2xx", "3xx", "4xx", "5xx", "5xx"]);
    }
}
