//! Metrics of HTTP requests and connections.

use std::time::Duration;

use metrics::{counter, histogram};

use crate::{CONNECTIONS_REFUSED, REFUSALS, REQUEST_SECONDS, SPANS_DROPPED, SPANS_SENT, STALLED_CONNECTIONS};

/// Records a request that was answered. `route` is the pattern that its path matched.
pub fn request(route: &str, method: &str, status: u16, took: Duration) {
    let (method, status) = (known_method(method), class(status));
    histogram!(REQUEST_SECONDS, "route" => route.to_owned(), "method" => method, "status" => status)
        .record(took.as_secs_f64());
}

/// Counts a request that was answered with the error of this code.
pub fn refused(code: &'static str) {
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
    fn labels_have_few_values() {
        assert_eq!((known_method("GET"), known_method("BREW")), ("GET", "other"));
        assert_eq!([101, 204, 304, 429, 503, 999].map(class), ["1xx", "2xx", "3xx", "4xx", "5xx", "5xx"]);
    }
}
