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

/// A wait as it is kept: in microseconds.
pub(crate) fn wait(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

/// The wait below which this share of them lies, in milliseconds.
pub(crate) fn wait_quantile(waits: &[u32], share: f64) -> f64 {
    quantile(&mut waits.iter().map(|wait| f64::from(*wait) / 1e3).collect::<Vec<_>>(), share)
}

/// How many a second.
#[expect(clippy::cast_precision_loss, reason = "far below the limit")]
pub(crate) fn per_second(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}
