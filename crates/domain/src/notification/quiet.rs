//! Quiet hours: the part of each day in which a channel is silent. Pure.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, TimeZone, Timelike};
use chrono_tz::Tz;

use crate::time::Timestamp;

/// The reason why a text is not quiet hours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum QuietFault {
    /// Not two times of the day, and a time zone.
    #[error("must be two times with a time zone, such as 22:00-07:00 Europe/Zurich")]
    Malformed,
    /// Both times are the same.
    #[error("must begin and end at different times")]
    Empty,
    /// No time zone has this name.
    #[error("must name a time zone of the IANA database, such as Europe/Zurich or UTC")]
    TimeZone,
}

/// A part of each day, in a time zone. It can contain midnight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuietHours {
    start: NaiveTime,
    end: NaiveTime,
    zone: Tz,
}

impl QuietHours {
    /// The end of the quiet hours at `now`; `None` if it is not quiet.
    pub fn end_at(&self, now: Timestamp) -> Option<Timestamp> {
        let local = DateTime::from_timestamp_micros(now.micros())?.with_timezone(&self.zone);
        let (date, time) = (local.date_naive(), local.time());
        let spans_midnight = self.start > self.end;
        let end_on = match (spans_midnight, time >= self.start, time < self.end) {
            (false, true, true) | (true, false, true) => date,
            (true, true, false) => date.checked_add_days(Days::new(1))?,
            _ => return None,
        };
        Some(self.end_on(end_on).unwrap_or_else(|| now.plus(Duration::from_secs(24 * 60 * 60))))
    }

    /// The end on a date. A time that does not exist, as when clocks are set forward, is one a little later.
    fn end_on(&self, date: NaiveDate) -> Option<Timestamp> {
        let ends = date.and_time(self.end);
        (0..=12).find_map(|quarters| {
            let local = ends.checked_add_signed(TimeDelta::minutes(15 * quarters))?;
            let at = self.zone.from_local_datetime(&local).latest()?;
            Some(Timestamp::from_micros(at.timestamp_micros()))
        })
    }
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, end, zone } = self;
        let (start, end) = (start.format("%H:%M"), end.format("%H:%M"));
        write!(f, "{start}-{end} {zone}")
    }
}

impl FromStr for QuietHours {
    type Err = QuietFault;

    fn from_str(text: &str) -> Result<Self, QuietFault> {
        let (times, zone) = text.trim().split_once(' ').ok_or(QuietFault::Malformed)?;
        let (start, end) = times.split_once('-').ok_or(QuietFault::Malformed)?;
        let [start, end] = [time(start)?, time(end)?];
        if start == end {
            return Err(QuietFault::Empty);
        }
        let zone = zone.trim().parse::<Tz>().map_err(|_| QuietFault::TimeZone)?;
        Ok(Self { start, end, zone })
    }
}

/// A time of the day with two digits of hours and of minutes.
fn time(text: &str) -> Result<NaiveTime, QuietFault> {
    let is_plain = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    let time = NaiveTime::parse_from_str(text, "%H:%M").ok().filter(|_| is_plain);
    time.filter(|time| time.second() == 0).ok_or(QuietFault::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn quiet_hours_end_in_their_time_zone() {
        let night = "22:00-07:00 Europe/Zurich";
        for (hours, now, end) in [
            // Across midnight, in winter: one hour before UTC.
            (night, "2026-01-10T20:59:59Z", None),
            (night, "2026-01-10T21:00:00Z", Some("2026-01-11T06:00:00Z")),
            (night, "2026-01-10T23:30:00Z", Some("2026-01-11T06:00:00Z")),
            (night, "2026-01-11T05:59:59Z", Some("2026-01-11T06:00:00Z")),
            (night, "2026-01-11T06:00:00Z", None),
            // In summer: two hours.
            (night, "2026-07-10T20:30:00Z", Some("2026-07-11T05:00:00Z")),
            (night, "2026-07-11T05:30:00Z", None),
            // The night in which clocks are set forward, and the one in which they are set back.
            (night, "2026-03-28T21:30:00Z", Some("2026-03-29T05:00:00Z")),
            (night, "2026-10-24T21:30:00Z", Some("2026-10-25T06:00:00Z")),
            // Its end does not exist in one of them, and exists twice in the other.
            ("22:00-02:30 Europe/Zurich", "2026-03-29T00:30:00Z", Some("2026-03-29T01:00:00Z")),
            ("22:00-02:30 Europe/Zurich", "2026-10-24T23:00:00Z", Some("2026-10-25T01:30:00Z")),
            // Within a day, and where the date is another one than in UTC.
            ("12:00-13:00 UTC", "2026-01-10T12:30:00Z", Some("2026-01-10T13:00:00Z")),
            ("12:00-13:00 UTC", "2026-01-10T13:00:00Z", None),
            ("00:00-08:00 Asia/Tokyo", "2026-01-10T16:00:00Z", Some("2026-01-10T23:00:00Z")),
            ("20:00-04:00 America/Los_Angeles", "2026-01-11T04:00:00Z", Some("2026-01-11T12:00:00Z")),
            ("23:30-00:15 Asia/Kathmandu", "2026-01-10T18:00:00Z", Some("2026-01-10T18:30:00Z")),
        ] {
            let hours = hours.parse::<QuietHours>().unwrap();
            assert_eq!(hours.end_at(at(now)), end.map(at), "{hours} at {now}");
        }
    }

    #[test]
    fn quiet_hours_are_read_as_they_are_written() {
        for text in ["22:00-07:00 Europe/Zurich", "00:00-23:59 UTC", "12:30-12:31 America/New_York"] {
            assert_eq!(text.parse::<QuietHours>().unwrap().to_string(), text);
        }
        for (text, fault) in [
            ("", QuietFault::Malformed),
            ("22:00-07:00", QuietFault::Malformed),
            ("22:00 UTC", QuietFault::Malformed),
            ("24:00-07:00 UTC", QuietFault::Malformed),
            ("22:60-07:00 UTC", QuietFault::Malformed),
            ("2:00-07:00 UTC", QuietFault::Malformed),
            ("+2:00-07:00 UTC", QuietFault::Malformed),
            ("22:00-22:00 UTC", QuietFault::Empty),
            ("22:00-07:00 Mars/Olympus", QuietFault::TimeZone),
            ("22:00-07:00 UTC UTC", QuietFault::TimeZone),
        ] {
            assert_eq!(text.parse::<QuietHours>(), Err(fault), "{text:?}");
        }
    }
}
