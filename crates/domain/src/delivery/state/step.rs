//! Steps of an agent's work, and the claim of the open attempt ([`crate::delivery::claim`]). Pure.

use super::{AttemptState, Delivery, MaxAttempts, NoActiveAttempt};
use crate::delivery::claim::{Claim, ClaimLease, StepTerms};
use crate::delivery::port::DeliveryStep;
use crate::time::Timestamp;

/// The reason why a step was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepRefused {
    /// There is no open attempt to close.
    NoActiveAttempt,
    /// The delivery is dead or held, so no attempt can be opened.
    Dead,
    /// Another attempt claims the message.
    AlreadyClaimed(Claim),
    /// An attempt was successful at this time, and exclusive claims open nothing again.
    AlreadyProcessed(Timestamp),
}

impl From<NoActiveAttempt> for StepRefused {
    fn from(_: NoActiveAttempt) -> Self {
        Self::NoActiveAttempt
    }
}

impl Delivery {
    /// The delivery with the stored end of its claim, which counts only while an attempt is open: a server of an earlier
    /// version closes attempts without it.
    #[must_use]
    pub fn with_claim(self, claimed_until: Option<Timestamp>) -> Self {
        let is_open = self.attempts.last().is_some_and(|newest| newest.state == AttemptState::Open);
        Self { claimed_until: claimed_until.filter(|_| is_open), ..self }
    }

    /// When the claim of the open attempt ends or has ended; `None` if there is none.
    pub const fn claimed_until(&self) -> Option<Timestamp> {
        self.claimed_until
    }

    /// The claim, unless it has ended at `now`.
    fn claim(&self, now: Timestamp) -> Option<Claim> {
        let until = self.claimed_until.filter(|until| *until > now)?;
        Some(Claim { attempt: self.current_attempt()?, until })
    }

    /// Takes a step of the work of an agent on these terms. If the last allowed attempt fails, or another one is to be
    /// opened after it, the delivery is dead afterwards, and no attempt is opened.
    ///
    /// # Errors
    /// [`StepRefused`] if there is no open attempt to close or renew, or the named attempt is not the open one; if an attempt
    /// is to be opened on a delivery that is dead, held, or claimed; or if a message to be claimed was already processed.
    pub fn step(
        self,
        step: &DeliveryStep,
        terms: impl Into<StepTerms>,
        now: Timestamp,
    ) -> Result<Self, StepRefused> {
        let StepTerms { max_attempts, lease, attempt } = terms.into();
        if attempt.is_some_and(|named| self.current_attempt() != Some(named)) {
            return Err(StepRefused::NoActiveAttempt);
        }
        match step {
            DeliveryStep::Begin => self.begin(max_attempts, lease, now),
            DeliveryStep::Renew => Ok(self.renew(lease, now)?),
            DeliveryStep::Succeed => Ok(self.succeed(now)?),
            DeliveryStep::Fail(error) => {
                let failed = self.fail(error, now)?;
                Ok(if failed.is_exhausted(max_attempts) { failed.end_exhausted(now) } else { failed })
            }
        }
    }

    /// Opens the next attempt, and claims the message with it.
    fn begin(
        self,
        max_attempts: Option<MaxAttempts>,
        lease: Option<ClaimLease>,
        now: Timestamp,
    ) -> Result<Self, StepRefused> {
        if self.dead.is_some() {
            return Err(StepRefused::Dead);
        }
        if let Some(claim) = self.claim(now) {
            return Err(StepRefused::AlreadyClaimed(claim));
        }
        if let (Some(_), Some(at)) = (lease, self.processed_at()) {
            return Err(StepRefused::AlreadyProcessed(at));
        }
        if self.is_exhausted(max_attempts) {
            return Ok(self.end_exhausted(now));
        }
        let claimed_until = lease.map(|lease| lease.end(now));
        Ok(Self { claimed_until, ..self.begin_attempt(now) })
    }

    /// Goes on with the open attempt, whose claim may have ended.
    fn renew(self, lease: Option<ClaimLease>, now: Timestamp) -> Result<Self, NoActiveAttempt> {
        match self.attempts.last().map(|newest| &newest.state) {
            Some(AttemptState::Open) => {
                let claimed_until = lease.map(|lease| lease.end(now)).max(self.claimed_until);
                Ok(Self { claimed_until, ..self })
            }
            _ => Err(NoActiveAttempt),
        }
    }
}
