//! Days, by which usage is summed.

use std::fmt;

use chrono::{DateTime, NaiveDate, Utc};

use crate::time::Timestamp;

/// The seconds of a day.
const SECONDS: i64 = 24 * 60 * 60;

/// A day in UTC, as the number of days since 1970-01-01.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Day(i64);

impl Day {
    /// The last day of all.
    pub const LAST: Self = Self(i64::MAX);

    /// The day of a point in time.
    pub const fn of(at: Timestamp) -> Self {
        Self(at.micros().div_euclid(SECONDS * 1_000_000))
    }

    /// From the number of days since 1970-01-01.
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number of days since 1970-01-01.
    pub const fn number(self) -> i64 {
        self.0
    }

    /// The beginning of the next day.
    pub fn end(self) -> Timestamp {
        Timestamp::from_micros(self.0.saturating_add(1).saturating_mul(SECONDS * 1_000_000))
    }

    /// The day this many days before.
    #[must_use]
    pub const fn minus(self, days: i64) -> Self {
        Self(self.0.saturating_sub(days))
    }

    /// Reads `2026-07-01`; anything else is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
        let at = day.and_time(chrono::NaiveTime::MIN).and_utc();
        let day = Self(at.timestamp().div_euclid(SECONDS));
        (day.to_string() == text).then_some(day)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = DateTime::<Utc>::from_timestamp(self.0.saturating_mul(SECONDS), 0).unwrap_or_default();
        write!(f, "{}", at.format("%Y-%m-%d"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_begin_at_midnight_utc() {
        for (at, day) in [
            ("1970-01-01T00:00:00Z", "1970-01-01"),
            ("1969-12-31T23:59:59.999999Z", "1969-12-31"),
            ("2026-07-01T23:59:59.999999Z", "2026-07-01"),
            ("2026-07-02T00:00:00Z", "2026-07-02"),
            ("2026-07-02T01:00:00+02:00", "2026-07-01"),
            ("2024-02-29T12:00:00Z", "2024-02-29"),
        ] {
            let of = Day::of(Timestamp::parse(at).unwrap());
            assert_eq!((of.to_string().as_str(), Some(of)), (day, Day::parse(day)), "{at}");
        }
    }

    #[test]
    fn only_whole_dates_are_days() {
        for wrong in
            ["", "2026", "2026-7-1", "2026-02-30", "2026-07-01T00:00:00Z", "+2026-07-01", " 2026-07-01"]
        {
            assert_eq!(Day::parse(wrong), None, "{wrong}");
        }
    }
}
