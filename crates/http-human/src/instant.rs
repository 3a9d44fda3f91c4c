//! Instants in queries and bodies.

use domain::time::Timestamp;
use http_wire::body::time;
use http_wire::openapi::schema;
use http_wire::query::QueryReader;
use http_wire::strict_json::{ObjectReader, Rejected};

/// The parameter `since` of a list.
pub(crate) fn since(
    query: &mut QueryReader,
    description: &'static str,
) -> Result<Option<Timestamp>, Rejected> {
    named(query, "since", description)
}

/// A parameter of a list.
pub(crate) fn named(
    query: &mut QueryReader,
    name: &'static str,
    description: &'static str,
) -> Result<Option<Timestamp>, Rejected> {
    query.parsed(name, schema::instant(), description, "must be an ISO 8601 time", instant)
}

/// The property `expires_at` of a body.
pub(crate) fn expires_at(
    body: &mut ObjectReader<'_>,
    description: &'static str,
) -> Result<Option<Timestamp>, Rejected> {
    body.optional_text("expires_at", schema::instant().about(description), time)
}

/// Parses an instant as clients write it: some do not escape the plus sign of the zone, which then
/// arrives as a space, and some omit the zone and mean UTC.
fn instant(text: &str) -> Option<Timestamp> {
    let plus = || text.rsplit_once(' ').map(|(time, zone)| format!("{time}+{zone}"));
    Timestamp::parse(text)
        .or_else(|| Timestamp::parse(&plus()?))
        .or_else(|| Timestamp::parse(&format!("{text}Z")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_as_clients_write_them() {
        let noon = Timestamp::parse("2026-07-01T12:00:00.5Z");
        for text in [
            "2026-07-01T12:00:00.500000Z",
            "2026-07-01T14:00:00.5+02:00",
            "2026-07-01T14:00:00.5 02:00",
            "2026-07-01T12:00:00.5",
            "2026-07-01 12:00:00.5",
        ] {
            assert_eq!(instant(text), noon, "{text}");
        }
        for text in ["", "yesterday", "2026-07-01", "1751371200", "2026-13-01T00:00:00Z"] {
            assert_eq!(instant(text), None, "{text}");
        }
    }
}
