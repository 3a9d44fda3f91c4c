//! Throughput: how the counters of a server have changed in the last hour, in steps of ten seconds.
//!
//! The ring has a fixed size, about 25 kB, and knows nothing from before the start of the server. Steps follow the
//! steady clock; one that came late is counted after empty ones.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::time::Timestamp;
use crate::words::words;

/// The duration of a step.
pub const STEP: Duration = Duration::from_secs(10);

/// The number of steps that are kept: an hour.
pub const STEPS: usize = 360;

words! {
    /// What is counted.
    Series {
        /// Texts that were stored.
        Messages = "messages",
        /// Deliveries of these texts to agents.
        Deliveries = "deliveries",
        /// Events of agents that were stored, such as thoughts and tool calls.
        Events = "events",
        /// Attempts that agents ended with success.
        AttemptsSuccess = "attempts_success",
        /// Attempts that agents ended with a failure.
        AttemptsFailed = "attempts_failed",
        /// Attempts that another one superseded.
        AttemptsSuperseded = "attempts_superseded",
        /// Attempts that somebody's retry or dead letter ended.
        AttemptsIntervention = "attempts_intervention",
        /// Requests that were answered.
        Requests = "requests",
        /// Those with a status of the class 4xx.
        ClientErrors = "client_errors",
        /// Those with a status of the class 5xx.
        ServerErrors = "server_errors",
        /// Refusals because of rate limits.
        RateLimited = "rate_limited",
        /// Refusals because of the quotas of plans.
        LimitReached = "limit_reached",
        /// Events that were queued for sockets.
        Pushes = "pushes",
        /// Messages that were pushed again.
        Redeliveries = "redeliveries",
        /// Sockets that have ended.
        SocketsEnded = "sockets_ended",
        /// Open sockets of users at the end of the step.
        UserSockets = "user_sockets",
        /// Open sockets of agents at the end of the step.
        AgentSockets = "agent_sockets",
    }
}

impl Series {
    /// Returns whether it is a current value instead of a number since the start.
    const fn is_level(self) -> bool {
        matches!(self, Self::UserSockets | Self::AgentSockets)
    }
}

/// The number of series.
const WIDTH: usize = Series::ALL.len();

/// The counters of a server since its start, and its current values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts([u64; WIDTH]);

impl Counts {
    /// The same with this value.
    #[must_use]
    pub const fn with(mut self, series: Series, value: u64) -> Self {
        self.0[series as usize] = value;
        self
    }

    /// The step from `earlier` to these.
    fn since(&self, earlier: &Self) -> Step {
        Series::ALL.map(|series| {
            let (before, now) = (earlier.0[series as usize], self.0[series as usize]);
            let value = if series.is_level() { now } else { now.saturating_sub(before) };
            u32::try_from(value).unwrap_or(u32::MAX)
        })
    }
}

/// The changes within a step, or the current values at its end.
type Step = [u32; WIDTH];

/// The steps of the last hour.
#[derive(Debug, Default)]
pub struct Throughput(Mutex<Ring>);

#[derive(Debug, Default)]
struct Ring {
    last: Option<Last>,
    steps: VecDeque<Step>,
}

/// The last counters that were recorded.
#[derive(Clone, Copy, Debug)]
struct Last {
    counts: Counts,
    at: Timestamp,
    /// As [`Self::at`], by the steady clock.
    steady: Timestamp,
}

/// The steps of the last hour, or of a shorter time after the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThroughputSteps {
    /// The end of the last step; `None` if none has begun.
    pub until: Option<Timestamp>,
    steps: Vec<Step>,
}

impl ThroughputSteps {
    /// The values of a series, oldest first.
    pub fn of(&self, series: Series) -> Vec<u32> {
        self.steps.iter().map(|step| step[series as usize]).collect()
    }
}

impl Throughput {
    /// Ends a step with the current counters; must be called once every [`STEP`]. The first call only begins a step.
    pub fn record(&self, counts: Counts, at: Timestamp, steady: Timestamp) {
        let mut ring = self.ring();
        let last = ring.last.replace(Last { counts, at, steady });
        let Some(last) = last else { return };
        // Rounded, since a step is never exactly as long as it should be.
        let passed = (steady.since(last.steady) + STEP / 2).as_secs() / STEP.as_secs();
        let missed = usize::try_from(passed.saturating_sub(1)).unwrap_or(STEPS).min(STEPS);
        let nothing = counts.since(&counts);
        ring.steps.extend(std::iter::repeat_n(nothing, missed));
        ring.steps.push_back(counts.since(&last.counts));
        let excess = ring.steps.len().saturating_sub(STEPS);
        ring.steps.drain(..excess);
    }

    /// The steps.
    pub fn read(&self) -> ThroughputSteps {
        let ring = self.ring();
        ThroughputSteps { until: ring.last.map(|last| last.at), steps: ring.steps.iter().copied().collect() }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(0).plus(Duration::from_secs(seconds))
    }

    fn counts(messages: u64, sockets: u64) -> Counts {
        Counts::default().with(Series::Messages, messages).with(Series::UserSockets, sockets)
    }

    #[test]
    fn steps_are_changes_of_counters_and_current_values() {
        let throughput = Throughput::default();
        assert_eq!(throughput.read(), ThroughputSteps { until: None, steps: Vec::new() });
        throughput.record(counts(100, 1), at(1000), at(0));
        assert_eq!(throughput.read(), ThroughputSteps { until: Some(at(1000)), steps: Vec::new() });
        throughput.record(counts(103, 2), at(1010), at(10));
        // A little early, and with the clock set back.
        throughput.record(counts(103, 0), at(20), at(19));
        let read = throughput.read();
        assert_eq!(read.until, Some(at(20)));
        assert_eq!((read.of(Series::Messages), read.of(Series::UserSockets)), (vec![3, 0], vec![2, 0]));
        assert_eq!(read.of(Series::Requests), [0, 0]);
    }

    #[test]
    fn a_late_step_follows_empty_ones() {
        let throughput = Throughput::default();
        throughput.record(counts(0, 1), at(0), at(0));
        throughput.record(counts(5, 1), at(34), at(34));
        let read = throughput.read();
        assert_eq!((read.of(Series::Messages), read.of(Series::UserSockets)), (vec![0, 0, 5], vec![1; 3]));
    }

    #[test]
    fn only_an_hour_is_kept() {
        let throughput = Throughput::default();
        for step in 0..500 {
            throughput.record(counts(step * step, 0), at(step * 10), at(step * 10));
        }
        let messages = throughput.read().of(Series::Messages);
        assert_eq!((messages.len(), messages[0], messages[STEPS - 1]), (STEPS, 279, 997));
        throughput.record(counts(499 * 499, 0), at(1_000_000), at(1_000_000));
        assert_eq!(throughput.read().of(Series::Messages), vec![0; STEPS]);
    }
}
