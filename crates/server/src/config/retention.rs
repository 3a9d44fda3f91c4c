//! How long messages are kept.

use domain::message::retention::MIN_AGE_DAYS;
use domain::message::{Ageing, Retention};

use super::key::Key;
use super::values::Values;

/// The maximum age: a century.
const MAX_AGE_DAYS: u32 = 36_500;

/// Reads the ages at which messages are erased.
pub(super) fn read(values: &mut Values) -> Vec<Retention> {
    values.section("Retention");
    let texts = Key::number(
        "retention_text_days",
        "DAYS",
        "0",
        "Days until texts and their delivery records are erased, even if no agent has processed them; at \
         least 2, or 0 to keep them.",
    );
    let events = Key::number(
        "retention_event_days",
        "DAYS",
        "0",
        "Days until events (tool calls, thoughts, and so on) are erased; at least 2, or 0 to keep them.",
    );
    let texts = (Ageing::Texts, values.read(texts, days));
    let events = (Ageing::Events, values.read(events, days));
    let limited = [texts, events].into_iter().filter(|(_, days)| *days > 0);
    limited.map(|(which, days)| Retention::days(which, days)).collect()
}

fn days(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(days) if days == 0 || (MIN_AGE_DAYS..=MAX_AGE_DAYS).contains(&days) => Ok(days),
        _ => Err(format!("'{text}' is neither 0 nor a whole number from {MIN_AGE_DAYS} to {MAX_AGE_DAYS}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_none_or_longer_than_answers_are_remembered() {
        for (text, said) in [("0", 0), ("2", 2), ("36500", 36_500)] {
            assert_eq!(days(text), Ok(said));
        }
        for text in ["1", "36501", "-1", "", "2d"] {
            assert!(days(text).unwrap_err().contains("0 nor"), "{text}");
        }
    }
}
