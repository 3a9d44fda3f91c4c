//! When a reminder is repeated: a subset of the recurrence rules of RFC 5545, section 3.3.10. Pure.
//!
//! All days and weeks are those of UTC, and weeks begin on Monday. A month without the day of the first occurrence is
//! passed over, as the RFC says.

use std::fmt;

use chrono::{Datelike, Months, NaiveDate};

use super::model::Occurrence;
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// The unit of a recurrence.
    Frequency {
        /// Every hour.
        Hourly = "HOURLY",
        /// Every day.
        Daily = "DAILY",
        /// Every week.
        Weekly = "WEEKLY",
        /// Every month.
        Monthly = "MONTHLY",
    }

    /// A day of a week.
    Weekday {
        /// Monday.
        Monday = "MO",
        /// Tuesday.
        Tuesday = "TU",
        /// Wednesday.
        Wednesday = "WE",
        /// Thursday.
        Thursday = "TH",
        /// Friday.
        Friday = "FR",
        /// Saturday.
        Saturday = "SA",
        /// Sunday.
        Sunday = "SU",
    }
}

/// The microseconds of an hour.
const HOUR: i64 = 3600 * 1_000_000;

/// The microseconds of a day.
const DAY: i64 = 24 * HOUR;

/// The number of 1970-01-01, counted from the first day of the year 1.
const EPOCH: i64 = 719_163;

/// The number of months that are tried for a day that some lack: more than there are between two leap days, for every
/// interval.
const TRIED_MONTHS: u32 = 100;

/// How often a text is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recurrence {
    frequency: Frequency,
    interval: u32,
    /// A bit for each day of the week, Monday first; 0 for the day of the first occurrence.
    days: u8,
    count: Option<u32>,
    until: Option<Timestamp>,
}

/// The reason why a text is no recurrence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecurrenceFault {
    /// It is not a list of names and values.
    #[error("must be a rule such as FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR")]
    Malformed,
    /// There is no frequency, or an unknown one.
    #[error("needs FREQ=HOURLY, DAILY, WEEKLY, or MONTHLY")]
    Frequency,
    /// It has a part that is not supported.
    #[error("may have FREQ, INTERVAL, COUNT, UNTIL, and BYDAY, each once")]
    UnknownPart,
    /// The interval is no number, or out of range.
    #[error("INTERVAL must be a whole number from 1 to {}", Recurrence::MAX_INTERVAL)]
    Interval,
    /// The count is no number, or out of range.
    #[error("COUNT must be a whole number from 1 to {}", Recurrence::MAX_COUNT)]
    Count,
    /// The end is no time.
    #[error("UNTIL must be a time in UTC such as 20261231T235959Z")]
    Until,
    /// It has two ends.
    #[error("may have COUNT or UNTIL, but not both")]
    TwoEnds,
    /// It names days, which only weeks have here, or something else than days.
    #[error("BYDAY must list days such as MO,WE,FR, with FREQ=WEEKLY")]
    Days,
}

impl Recurrence {
    /// The longest text of a rule, in characters.
    pub const MAX_CHARS: usize = 200;

    /// The largest interval.
    pub const MAX_INTERVAL: u32 = 1000;

    /// The largest count.
    pub const MAX_COUNT: u32 = 10_000;

    /// Reads a rule. Names and values may be in lower case, and the parts in any order.
    ///
    /// # Errors
    /// [`RecurrenceFault`] if it is no rule of the subset.
    pub fn parse(text: &str) -> Result<Self, RecurrenceFault> {
        if text.len() > Self::MAX_CHARS {
            return Err(RecurrenceFault::Malformed);
        }
        let text = text.to_ascii_uppercase();
        let [mut frequency, mut interval, mut count, mut until, mut days] = [None; 5];
        for part in text.split(';') {
            let (name, value) = part.split_once('=').ok_or(RecurrenceFault::Malformed)?;
            let place = match name {
                "FREQ" => &mut frequency,
                "INTERVAL" => &mut interval,
                "COUNT" => &mut count,
                "UNTIL" => &mut until,
                "BYDAY" => &mut days,
                _ => return Err(RecurrenceFault::UnknownPart),
            };
            if place.replace(value).is_some() {
                return Err(RecurrenceFault::UnknownPart);
            }
        }
        let frequency = frequency.and_then(Frequency::parse).ok_or(RecurrenceFault::Frequency)?;
        let interval = interval.map(|text| number(text, Self::MAX_INTERVAL).ok_or(RecurrenceFault::Interval));
        let count =
            count.map(|text| number(text, Self::MAX_COUNT).ok_or(RecurrenceFault::Count)).transpose()?;
        let until = until.map(|text| instant(text).ok_or(RecurrenceFault::Until)).transpose()?;
        if count.is_some() && until.is_some() {
            return Err(RecurrenceFault::TwoEnds);
        }
        let days = days.map(|text| days_of(text).filter(|_| frequency == Frequency::Weekly));
        let days = days.map(|days| days.ok_or(RecurrenceFault::Days)).transpose()?.unwrap_or(0);
        Ok(Self { frequency, interval: interval.transpose()?.unwrap_or(1), days, count, until })
    }

    /// Returns whether `first` can be its first occurrence: it is on one of the days, and before the end.
    pub fn can_begin_at(&self, first: Timestamp) -> bool {
        (self.days == 0 || self.has_day(day_of(first))) && self.until.is_none_or(|until| first <= until)
    }

    /// The first occurrence after `last` that is later than `now`; `None` if there is none. `first` is the time of the
    /// first one. Those that are passed over count.
    pub fn following(&self, first: Timestamp, last: Occurrence, now: Timestamp) -> Option<Occurrence> {
        let mut next = last;
        loop {
            let at = self.after(first, next.at).filter(|at| *at > next.at)?;
            next = Occurrence { at, number: next.number.checked_add(1)? };
            let has_ended = self.count.is_some_and(|count| next.number > count)
                || self.until.is_some_and(|until| next.at > until);
            if has_ended {
                return None;
            }
            if next.at > now {
                return Some(next);
            }
        }
    }

    /// The occurrence after `at`, which is one, whatever ends the rule.
    fn after(&self, first: Timestamp, at: Timestamp) -> Option<Timestamp> {
        let interval = i64::from(self.interval);
        let moved = |by: i64| at.micros().checked_add(by).and_then(existing);
        match self.frequency {
            Frequency::Hourly => moved(interval * HOUR),
            Frequency::Daily => moved(interval * DAY),
            Frequency::Weekly if self.days == 0 => moved(interval * 7 * DAY),
            Frequency::Weekly => {
                let (today, begun) = (day_of(at), week_of(day_of(first)));
                let is_next = |ahead: &i64| {
                    let day = today + ahead;
                    self.has_day(day) && (week_of(day) - begun) % interval == 0
                };
                (1..=interval * 7 + 7).find(is_next).and_then(|ahead| moved(ahead * DAY))
            }
            Frequency::Monthly => {
                let (begun, time) = (date_of(day_of(first))?, first.micros().rem_euclid(DAY));
                let months = months_between(begun, date_of(day_of(at))?);
                let date = |step: u32| {
                    let months = months + i64::from(step) * interval;
                    let month =
                        begun.with_day(1)?.checked_add_months(Months::new(u32::try_from(months).ok()?))?;
                    month.with_day(begun.day())
                };
                let day = i64::from((1..=TRIED_MONTHS).find_map(date)?.num_days_from_ce()) - EPOCH;
                day.checked_mul(DAY)?.checked_add(time).and_then(existing)
            }
        }
    }

    fn has_day(&self, day: i64) -> bool {
        self.days & (1 << (day + 3).rem_euclid(7)) != 0
    }
}

/// The rule, with its parts in one order.
impl fmt::Display for Recurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FREQ={}", self.frequency.as_str())?;
        if self.interval > 1 {
            write!(f, ";INTERVAL={}", self.interval)?;
        }
        let days = Weekday::ALL.iter().enumerate().filter(|(index, _)| self.days & (1 << index) != 0);
        let days = days.map(|(_, day)| day.as_str()).collect::<Vec<_>>();
        if !days.is_empty() {
            write!(f, ";BYDAY={}", days.join(","))?;
        }
        if let Some(count) = self.count {
            write!(f, ";COUNT={count}")?;
        }
        if let Some(until) = self.until {
            let text = until.to_string();
            let whole = text.split('.').next().unwrap_or_default();
            write!(f, ";UNTIL={}Z", whole.replace(['-', ':'], ""))?;
        }
        Ok(())
    }
}

/// The time with this number of microseconds, if years have four digits then.
fn existing(micros: i64) -> Option<Timestamp> {
    Some(Timestamp::from_micros(micros)).filter(|at| at.micros() == micros)
}

/// A whole number from 1 to `max`, in digits.
fn number(text: &str, max: u32) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse::<u32>().ok().filter(|number| is_plain && (1..=max).contains(number))
}

/// `20261231T235959Z`.
fn instant(text: &str) -> Option<Timestamp> {
    let is_at = |index: usize, byte: u8| match index {
        8 => byte == b'T',
        15 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    };
    if text.len() != 16 || !text.bytes().enumerate().all(|(index, byte)| is_at(index, byte)) {
        return None;
    }
    let part = |from: usize, to: usize| &text[from..to];
    let (year, month, day) = (part(0, 4), part(4, 6), part(6, 8));
    let (hour, minute, second) = (part(9, 11), part(11, 13), part(13, 15));
    Timestamp::parse(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z"))
}

/// A bit for each of the listed days; `None` if one is unknown or repeated.
fn days_of(text: &str) -> Option<u8> {
    text.split(',').try_fold(0_u8, |days, word| {
        let index = Weekday::WORDS.iter().position(|known| *known == word)?;
        let day = 1 << index;
        (days & day == 0).then_some(days | day)
    })
}

/// The number of a day, counted from 1970-01-01.
fn day_of(at: Timestamp) -> i64 {
    at.micros().div_euclid(DAY)
}

/// The number of a day's week, which begins on Monday. 1970-01-01 was a Thursday.
fn week_of(day: i64) -> i64 {
    (day + 3).div_euclid(7)
}

fn date_of(day: i64) -> Option<NaiveDate> {
    NaiveDate::from_num_days_from_ce_opt(i32::try_from(day + EPOCH).ok()?)
}

fn months_between(from: NaiveDate, to: NaiveDate) -> i64 {
    i64::from(to.year() - from.year()) * 12 + i64::from(to.month()) - i64::from(from.month())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    /// The days, without the year 20 and the time, that follow `first` before the end of the rule, at most `most`.
    fn listed(rule: &str, first: &str, most: usize) -> Vec<String> {
        let (rule, first) = (Recurrence::parse(rule).unwrap(), at(first));
        assert!(rule.can_begin_at(first), "{rule}");
        let mut last = Occurrence { at: first, number: 1 };
        let mut all = Vec::new();
        while let Some(next) = rule.following(first, last, last.at).filter(|_| all.len() < most) {
            all.push(next.at.to_string()[2..16].to_owned());
            last = next;
        }
        all
    }

    #[test]
    fn occurrences_follow_the_calendar() {
        for (rule, first, following) in [
            ("FREQ=HOURLY", "2026-12-31T23:30:00Z", &["27-01-01T00:30", "27-01-01T01:30"][..]),
            ("FREQ=HOURLY;INTERVAL=36", "2026-02-27T20:00:00Z", &["26-03-01T08:00", "26-03-02T20:00"]),
            ("FREQ=DAILY", "2028-02-28T09:00:00Z", &["28-02-29T09:00", "28-03-01T09:00"]),
            ("FREQ=DAILY;INTERVAL=3", "2026-02-27T09:00:00Z", &["26-03-02T09:00", "26-03-05T09:00"]),
            ("FREQ=WEEKLY", "2026-12-25T07:05:00Z", &["27-01-01T07:05", "27-01-08T07:05"]),
            // 2026-11-30 is a Monday.
            (
                "FREQ=WEEKLY;BYDAY=FR,MO",
                "2026-11-30T10:00:00Z",
                &["26-12-04T10:00", "26-12-07T10:00", "26-12-11T10:00"],
            ),
            (
                "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,TU",
                "2026-12-01T10:00:00Z",
                &["26-12-06T10:00", "26-12-15T10:00", "26-12-20T10:00", "26-12-29T10:00"],
            ),
            ("FREQ=MONTHLY", "2026-11-15T10:00:00Z", &["26-12-15T10:00", "27-01-15T10:00"]),
            // Months without the day are passed over.
            (
                "FREQ=MONTHLY",
                "2027-01-31T10:00:00Z",
                &["27-03-31T10:00", "27-05-31T10:00", "27-07-31T10:00", "27-08-31T10:00"],
            ),
            ("FREQ=MONTHLY", "2027-12-29T10:00:00Z", &["28-01-29T10:00", "28-02-29T10:00", "28-03-29T10:00"]),
            ("FREQ=MONTHLY", "2026-12-30T10:00:00Z", &["27-01-30T10:00", "27-03-30T10:00"]),
            ("FREQ=MONTHLY;INTERVAL=5", "2027-03-31T10:00:00Z", &["27-08-31T10:00", "28-01-31T10:00"]),
            ("FREQ=MONTHLY;INTERVAL=12", "2028-02-29T10:00:00Z", &["32-02-29T10:00", "36-02-29T10:00"]),
            ("FREQ=MONTHLY;INTERVAL=12", "2096-02-29T10:00:00Z", &["04-02-29T10:00"]),
        ] {
            assert_eq!(listed(rule, first, following.len()), following, "{rule} {first}");
        }
    }

    #[test]
    fn a_rule_ends_by_count_or_time() {
        let first = "2026-12-01T10:00:00Z";
        assert_eq!(listed("FREQ=DAILY;COUNT=1", first, 9), [""; 0]);
        assert_eq!(listed("FREQ=DAILY;COUNT=3", first, 9), ["26-12-02T10:00", "26-12-03T10:00"]);
        for (until, last) in [
            ("20261202T095959Z", None),
            ("20261202T100000Z", Some("26-12-02T10:00")),
            ("20261203T000000Z", Some("26-12-02T10:00")),
        ] {
            let listed = listed(&format!("FREQ=DAILY;UNTIL={until}"), first, 9);
            assert_eq!(listed.last().map(String::as_str), last, "{until}");
        }
        let rule = Recurrence::parse("FREQ=DAILY;UNTIL=20261201T095959Z").unwrap();
        assert!(!rule.can_begin_at(at(first)));
        let rule = Recurrence::parse("FREQ=WEEKLY;BYDAY=MO").unwrap();
        assert!(!rule.can_begin_at(at(first)), "a Tuesday");
    }

    #[test]
    fn what_passed_counts_and_is_not_sent_later() {
        let (first, rule) = (at("2026-12-01T10:00:00Z"), Recurrence::parse("FREQ=HOURLY;COUNT=100").unwrap());
        let due = Occurrence { at: first, number: 1 };
        let next = |now: &str| rule.following(first, due, at(now));
        let third = Occurrence { at: at("2026-12-01T12:00:00Z"), number: 3 };
        assert_eq!(next("2026-12-01T11:00:00Z"), Some(third), "later than now");
        assert_eq!(next("2026-12-01T11:59:59Z"), Some(third));
        assert_eq!(next("2026-12-05T12:59:59Z").map(|next| next.number), Some(100));
        assert_eq!(next("2026-12-05T13:00:00Z"), None);
        let forever = Recurrence::parse("FREQ=MONTHLY;INTERVAL=1000").unwrap();
        assert_eq!(forever.following(first, due, at("9999-01-01T00:00:00Z")), None, "time itself ends");
    }

    #[test]
    fn rules_are_read_and_written() {
        for (rule, written) in [
            ("freq=daily", "FREQ=DAILY"),
            ("INTERVAL=1;FREQ=HOURLY", "FREQ=HOURLY"),
            ("BYDAY=su,mo;FREQ=WEEKLY;INTERVAL=2;COUNT=7", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,SU;COUNT=7"),
            ("FREQ=MONTHLY;UNTIL=20270101T000000Z", "FREQ=MONTHLY;UNTIL=20270101T000000Z"),
        ] {
            let read = Recurrence::parse(rule).unwrap();
            assert_eq!(read.to_string(), written);
            assert_eq!(Recurrence::parse(written), Ok(read));
        }
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        let long = "FREQ=DAILY;".repeat(100);
        for (rule, fault) in [
            ("", RecurrenceFault::Malformed),
            ("daily", RecurrenceFault::Malformed),
            ("FREQ=DAILY;", RecurrenceFault::Malformed),
            (&long, RecurrenceFault::Malformed),
            ("FREQ=MINUTELY", RecurrenceFault::Frequency),
            ("FREQ=YEARLY", RecurrenceFault::Frequency),
            ("INTERVAL=2", RecurrenceFault::Frequency),
            ("RRULE:FREQ=DAILY", RecurrenceFault::UnknownPart),
            ("FREQ=DAILY;FREQ=DAILY", RecurrenceFault::UnknownPart),
            ("FREQ=DAILY;BYMONTH=1", RecurrenceFault::UnknownPart),
            ("FREQ=DAILY;INTERVAL=0", RecurrenceFault::Interval),
            ("FREQ=DAILY;INTERVAL=1001", RecurrenceFault::Interval),
            ("FREQ=DAILY;INTERVAL=+1", RecurrenceFault::Interval),
            ("FREQ=DAILY;COUNT=0", RecurrenceFault::Count),
            ("FREQ=DAILY;COUNT=99999999999", RecurrenceFault::Count),
            ("FREQ=DAILY;UNTIL=20261231", RecurrenceFault::Until),
            ("FREQ=DAILY;UNTIL=20261331T000000Z", RecurrenceFault::Until),
            ("FREQ=DAILY;UNTIL=2026ä231T00000Z", RecurrenceFault::Until),
            ("FREQ=DAILY;COUNT=2;UNTIL=20261231T000000Z", RecurrenceFault::TwoEnds),
            ("FREQ=DAILY;BYDAY=MO", RecurrenceFault::Days),
            ("FREQ=WEEKLY;BYDAY=1MO", RecurrenceFault::Days),
            ("FREQ=WEEKLY;BYDAY=MO,MO", RecurrenceFault::Days),
            ("FREQ=WEEKLY;BYDAY=", RecurrenceFault::Days),
        ] {
            assert_eq!(Recurrence::parse(rule), Err(fault), "{rule}");
        }
    }
}
