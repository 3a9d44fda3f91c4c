//! Instants in queries.

use domain::time::Timestamp;

/// An instant as clients write it: some forget to escape the plus of the zone, which then
/// arrives as a blank, some leave the zone away and mean UTC.
pub(crate) fn instant(text: &str) -> Option<Timestamp> {
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
