//! Outages: the log has one line when an outage begins, and one when it ends.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// The start of an outage, if there is one.
#[derive(Default, Debug)]
pub struct Outage(Option<Instant>);

impl Outage {
    /// Records a failure. Returns whether an outage begins with it.
    pub fn begins(&mut self) -> bool {
        let is_new = self.0.is_none();
        self.0.get_or_insert_with(Instant::now);
        is_new
    }

    /// Records a success. Returns the duration of the outage that it ends, if there was one.
    pub fn ends(&mut self) -> Option<Duration> {
        self.0.take().map(|since| since.elapsed())
    }

    /// Records an outcome: logs once that an operation fails, and once that it works again.
    pub fn log<T, E: Debug>(&mut self, outcome: &Result<T, E>, failing: &str, works_again: &str) {
        match outcome {
            Err(error) => {
                if self.begins() {
                    tracing::warn!(error = ?error, "{failing}");
                }
            }
            Ok(_) => {
                if let Some(lasted) = self.ends() {
                    tracing::info!(duration_ms = lasted.as_millis(), "{works_again}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begin_and_end_are_reported_once() {
        let mut outage = Outage::default();
        assert_eq!(outage.ends(), None);
        assert!(outage.begins() && !outage.begins());
        assert!(outage.ends().is_some() && outage.ends().is_none());
        assert!(outage.begins());
    }
}
