//! Figures of many measurements.

use std::time::Duration;

/// The value below which this share of the measurements lies.
pub(crate) fn quantile(values: &mut [f64], share: f64) -> f64 {
    assert!(!values.is_empty(), "nothing was measured");
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    let index = (share * (values.len() - 1) as f64).round() as usize;
    values[index]
}

/// The middle one.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
