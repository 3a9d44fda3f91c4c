//! Something that fails for a while: the log says once that it began, and once that it is over.

use std::time::{Duration, Instant};

/// Since when something has failed, if it does.
#[derive(Default, Debug)]
pub struct Outage(Option<Instant>);

impl Outage {
    /// It fails now; whether that is new.
    pub fn begins(&mut self) -> bool {
        let is_new = self.0.is_none();
        self.0.get_or_insert_with(Instant::now);
        is_new
    }

    /// It works now; for how long it had failed, if it had.
    pub fn ends(&mut self) -> Option<Duration> {
        self.0.take().map(|since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_beginning_and_its_end_are_told_once() {
        let mut outage = Outage::default();
        assert_eq!(outage.ends(), None);
        assert!(outage.begins() && !outage.begins());
        assert!(outage.ends().is_some() && outage.ends().is_none());
        assert!(outage.begins());
    }
}
