//! Parsers of values. Their error messages follow the setting's name, and say what is expected.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

/// Parses `ADDRESS:PORT`; the address may be a host name.
pub(super) fn listen(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(text.to_owned()),
        _ => Err(format!("'{text}' is not ADDRESS:PORT, such as 127.0.0.1:4000")),
    }
}

/// Parses `ADDRESS:PORT` or `off`.
pub(super) fn listen_or_off(text: &str) -> Result<Option<String>, String> {
    if text == "off" { Ok(None) } else { listen(text).map(Some) }
}

/// Accepts any text.
pub(super) fn text(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("is empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// Parses `true` or `false`.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("'{text}' is neither true nor false"))
}

/// Parses a number from `low` to `high`.
pub(super) fn number<T>(low: T, high: T) -> impl Fn(&str) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
{
    move |text| match text.parse::<T>() {
        Ok(number) if number >= low && number <= high => Ok(number),
        _ => Err(format!("'{text}' is not a whole number from {low} to {high}")),
    }
}

/// Parses a number of milliseconds from `low` to `high`.
pub(super) fn millis(low: u64, high: u64) -> impl Fn(&str) -> Result<Duration, String> {
    move |text| number(low, high)(text).map(Duration::from_millis)
}

/// A day in milliseconds: the upper bound of most durations.
pub(super) const DAY_MS: u64 = 86_400_000;

/// Parses a list whose items are separated by commas.
pub(super) fn list<T>(item: impl Fn(&str) -> Result<T, String>) -> impl Fn(&str) -> Result<Vec<T>, String> {
    move |text| {
        let items = text.split(',').map(str::trim).filter(|text| !text.is_empty());
        let (good, bad): (Vec<_>, Vec<_>) = items.map(&item).partition(Result::is_ok);
        let faults = bad.into_iter().filter_map(Result::err).collect::<Vec<_>>();
        if faults.is_empty() {
            Ok(good.into_iter().filter_map(Result::ok).collect())
        } else {
            Err(faults.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for good in ["127.0.0.1:4000", "[::1]:0", "localhost:65535"] {
            assert_eq!(listen(good).unwrap(), good);
        }
        for bad in ["", ":1", "x", "x:", "x:65536", "x:-1"] {
            assert!(listen(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_have_bounds() {
        assert_eq!(number(1_u32, 9)("9"), Ok(9));
        for bad in ["0", "10", "", "x", "1.5", "-1", "99999999999"] {
            assert!(number(1_u32, 9)(bad).unwrap_err().contains("from 1 to 9"), "{bad}");
        }
        assert_eq!(millis(1, 10)("7"), Ok(Duration::from_millis(7)));
    }

    #[test]
    fn every_wrong_item_of_a_list_is_named() {
        let numbers = list(number(1_u32, 9));
        assert_eq!(numbers(" 1, 2,,3 "), Ok(vec![1, 2, 3]));
        assert_eq!(numbers(""), Ok(Vec::new()));
        let fault = numbers("1,x,77").unwrap_err();
        assert!(fault.contains("'x'") && fault.contains("'77'"), "{fault}");
    }
}
