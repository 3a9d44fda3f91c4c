//! The limits of connections, and the allowed origins (CORS).

use std::time::Duration;

use http_wire::browser::AllowedOrigins;

use super::key::Key;
use super::parse;
use super::values::Values;

/// The limits of connections, and the allowed origins (CORS).
#[derive(Clone, Debug)]
pub struct HttpConfig {
    /// The time limit for the headers of a request, and for a TLS handshake.
    pub header_timeout: Duration,
    /// The time after which a connection without a request is closed.
    pub idle_timeout: Duration,
    /// The maximum number of connections of one address; 0 for no limit, `None` if it is not set.
    pub per_address: Option<u32>,
    /// The maximum number of bytes of unread answers.
    pub unread_bytes: u64,
    /// The maximum number of bytes of unread answers of one address.
    pub unread_per_address: u64,
    /// The origins whose pages may read answers.
    pub origins: AllowedOrigins,
}

pub(super) fn read(values: &mut Values) -> HttpConfig {
    values.section("Connections");
    let header = Key::number(
        "header_timeout_ms",
        "MS",
        "5000",
        "How long the headers of a request or a TLS handshake may take before the connection is closed, in \
         milliseconds, accurate to half a second.",
    );
    let idle = Key::number(
        "http_idle_timeout_ms",
        "MS",
        "5000",
        "How long a connection may stay idle between requests, in milliseconds, accurate to half a second. A proxy \
         should close its idle connections earlier.",
    );
    let per_address = Key::number(
        "max_connections_per_address",
        "NUMBER",
        "2000; no limit for the loopback address",
        "Maximum number of connections, including sockets, from one address (IPv6: from one /64 network); 0 is no \
         limit. Connections from `trusted_proxies` are not counted. A value that you set also applies to the \
         loopback address.",
    );
    let unread = Key::number(
        "unread_answer_bytes",
        "BYTES",
        "67108864",
        "Maximum memory for answers that clients have not read yet, in bytes. If it is used up, a request \
         with a large answer gets 503, and a connection that cannot write its answer is closed.",
    );
    let unread_per_address = Key::number(
        "unread_answer_bytes_per_address",
        "BYTES",
        "8388608",
        "The same for one address (IPv6: one /64 network). `trusted_proxies` have no limit of their own.",
    );
    let origins = Key::list(
        "cors_origins",
        "ORIGINS",
        "Origins whose pages may read answers (CORS), separated by commas, for example `https://app.example.org`; \
         `*` allows all.",
    );
    let origins = values.optional(origins, parse::list(origin)).unwrap_or_default();
    HttpConfig {
        header_timeout: values.read(header, parse::millis(SHORTEST_MS, parse::DAY_MS)),
        idle_timeout: values.read(idle, parse::millis(SHORTEST_MS, parse::DAY_MS)),
        per_address: values.optional(per_address, parse::number(0, 1_000_000)),
        unread_bytes: values.read(unread, parse::number(LEAST_UNREAD, MOST_UNREAD)),
        unread_per_address: values.read(unread_per_address, parse::number(LEAST_UNREAD, MOST_UNREAD)),
        origins: AllowedOrigins { all: origins.iter().any(|origin| origin == "*"), origins },
    }
}

/// The shortest timeout. The clock of these timeouts advances in steps of half a second, and misses shorter
/// ones.
const SHORTEST_MS: u64 = 1000;

/// The bounds of the bytes of unread answers: a page of messages has to fit.
const LEAST_UNREAD: u64 = 1024 * 1024;
const MOST_UNREAD: u64 = 1024 * 1024 * 1024;

/// Parses an origin as browsers write it, or `*`.
fn origin(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_plain =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | ':' | '[' | ']');
    match host {
        Some(host) if !host.is_empty() && host.chars().all(is_plain) => Ok(text.to_owned()),
        None if text == "*" => Ok(text.to_owned()),
        _ => Err(format!("'{text}' is not an origin, such as https://app.example.org")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_written_as_browsers_do() {
        for good in ["*", "https://app.example.org", "http://localhost:3000", "http://[::1]:80"] {
            assert!(origin(good).is_ok(), "{good}");
        }
        for bad in ["", "app.example.org", "https://", "https://a/", "https://A.org", "ftp://a", "**"] {
            assert!(origin(bad).is_err(), "{bad}");
        }
    }
}
