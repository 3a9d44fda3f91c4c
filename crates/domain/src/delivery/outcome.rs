//! How attempts end, counted since the start of the process.

use std::sync::atomic::{AtomicU64, Ordering};

use super::state::{AttemptState, Delivery, NO_RESULT, SUPERSEDED};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// The outcome of an attempt.
    AttemptOutcome {
        /// The agent reported success.
        Success = "success",
        /// The agent reported a failure.
        Failed = "failed",
        /// The agent began again without having reported an end, as after a crash.
        Superseded = "superseded",
        /// Someone who is responsible for the agent retried or dead-lettered the message meanwhile.
        Intervention = "intervention",
    }
}

impl AttemptOutcome {
    /// The outcome of the attempt that a step has ended, if it has ended one; `begins` tells that the step
    /// was to open another.
    pub(super) fn of_step(after: &Delivery, begins: bool) -> Option<Self> {
        let newest = after.attempts().last()?;
        if !begins {
            return match newest.state {
                AttemptState::Open => None,
                AttemptState::Succeeded { .. } => Some(Self::Success),
                AttemptState::Failed { .. } => Some(Self::Failed),
            };
        }
        let at = after.dead().map_or(newest.started_at, |dead| dead.at);
        let mut last = after.attempts().iter().rev().take(2);
        let is_superseded = last.any(|attempt| {
            attempt.completed_at() == Some(at) && matches!(attempt.error(), Some(SUPERSEDED | NO_RESULT))
        });
        is_superseded.then_some(Self::Superseded)
    }

    /// The outcome of the attempt that an intervention at `now` has ended, if it has ended one.
    pub(crate) fn of_intervention(after: &Delivery, now: Timestamp) -> Option<Self> {
        let newest = after.attempts().last()?;
        (newest.completed_at() == Some(now)).then_some(Self::Intervention)
    }
}

/// The number of attempts that have ended with each outcome.
#[derive(Default, Debug)]
pub struct AttemptCounts([AtomicU64; AttemptOutcome::ALL.len()]);

impl AttemptCounts {
    /// Counts an attempt, if one has ended.
    pub(crate) fn count(&self, outcome: Option<AttemptOutcome>) {
        if let Some(outcome) = outcome {
            self.0[outcome as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The current numbers.
    pub fn read(&self) -> [(AttemptOutcome, u64); AttemptOutcome::ALL.len()] {
        AttemptOutcome::ALL.map(|outcome| (outcome, self.0[outcome as usize].load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::delivery::{DeadLetterReason, DeliveryStep, FailureText, MaxAttempts};
    use crate::id::AgentId;

    #[test]
    fn every_end_of_an_attempt_has_an_outcome() {
        let at = Timestamp::from_micros;
        let (begin, succeed) = (DeliveryStep::Begin, DeliveryStep::Succeed);
        let fail = DeliveryStep::Fail(FailureText::new(SUPERSEDED.to_owned()).unwrap());
        let outcomes = |steps: &[&DeliveryStep], max| {
            let mut delivery = Delivery::new(AgentId::new(Uuid::from_u128(1)));
            let mut outcomes = Vec::new();
            // All steps have the same time, so the time alone cannot tell the outcomes apart.
            for step in steps {
                delivery = delivery.step(step, MaxAttempts::new(max), at(1)).unwrap();
                outcomes.push(AttemptOutcome::of_step(&delivery, **step == DeliveryStep::Begin));
            }
            outcomes
        };
        let (success, failed) = (Some(AttemptOutcome::Success), Some(AttemptOutcome::Failed));
        let superseded = Some(AttemptOutcome::Superseded);
        assert_eq!(outcomes(&[&begin, &succeed, &begin], 9), [None, success, None]);
        assert_eq!(outcomes(&[&begin, &begin, &begin], 9), [None, superseded, superseded]);
        assert_eq!(outcomes(&[&begin, &fail], 1), [None, failed], "and dead");
        assert_eq!(outcomes(&[&begin, &begin], 1), [None, superseded], "and dead");

        let reason = DeadLetterReason::new("no key".to_owned()).unwrap();
        let new = Delivery::new(AgentId::new(Uuid::from_u128(1)));
        let open = new.clone().step(&begin, None, at(1)).unwrap();
        for (before, outcome) in [(new, None), (open.clone(), Some(AttemptOutcome::Intervention))] {
            let dead = before.dead_letter(&reason, at(2)).unwrap();
            assert_eq!(AttemptOutcome::of_intervention(&dead, at(2)), outcome);
        }
        let retried = open.retry(at(1), at(2)).unwrap();
        assert_eq!(AttemptOutcome::of_intervention(&retried, at(2)), Some(AttemptOutcome::Intervention));
    }
}
