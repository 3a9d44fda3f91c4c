//! Points in time, in whole microseconds since the Unix epoch (UTC), so that every store keeps
//! exactly what was decided.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize};

/// A point in time, UTC, in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
pub struct Timestamp(i64);

/// The range of RFC 3339: years 1 to 9999.
const RANGE: std::ops::RangeInclusive<i64> = -62_135_596_800_000_000..=253_402_300_799_999_999;

impl Timestamp {
    /// From microseconds since the epoch, cut to the years 1 to 9999.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(*RANGE.start(), *RANGE.end()))
    }

    /// Microseconds since the epoch.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Milliseconds since the epoch, never negative.
    pub fn unix_millis(self) -> u64 {
        u64::try_from(self.0 / 1000).unwrap_or(0)
    }

    /// This instant moved forward.
    pub fn plus(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self::from_micros(self.0.saturating_add(micros))
    }

    /// This instant moved back.
    pub fn minus(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self::from_micros(self.0.saturating_sub(micros))
    }

    /// The time from `earlier` to this one; zero if it is not later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Reads an RFC 3339 instant with a zone; anything else is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let parsed = DateTime::parse_from_rfc3339(text).ok()?;
        Some(Self::from_micros(parsed.timestamp_micros()))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer).map(Self::from_micros)
    }
}

impl fmt::Display for Timestamp {
    /// `2026-07-01T10:00:00.000000Z`: always UTC, always six decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = DateTime::<Utc>::from_timestamp_micros(self.0).unwrap_or_default();
        f.write_str(&moment.to_rfc3339_opts(SecondsFormat::Micros, true))
    }
}
