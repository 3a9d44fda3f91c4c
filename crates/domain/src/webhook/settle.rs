//! What follows from the answer to a request, and whether a delivery is sent again. Pure.

use std::fmt;
use std::time::Duration;

use super::model::{Disabled, DisabledReason, Webhook, WebhookDelivery, WebhookOutcome};
use super::schedule::{LONGEST, SHORTEST, WORKING_PAUSE, in_a_row, retry_delay};
use crate::delivery::{Delivery, DeliveryStatus};
use crate::id::RecordId;
use crate::time::Timestamp;

/// How long every request must have failed before the log and the status of the webhook say so.
pub const WARNED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// How long every request must have failed before the webhook is disabled, two days of it after the warning. A webhook that
/// is seldom called, or whose agent was paused meanwhile, may be disabled later.
pub const DISABLED_AFTER: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// The status by which a receiver says that it will never take anything again.
const GONE: u16 = 410;

/// The result of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// The receiver has answered.
    Answered {
        /// The status.
        status: u16,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// It has not, or the request could not be made.
    Unanswered {
        /// The reason.
        error: String,
    },
}

impl Reply {
    /// Returns whether the receiver took the message.
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Answered { status: 200..=299, .. })
    }

    /// Returns whether the receiver will never take anything again.
    pub const fn is_gone(&self) -> bool {
        matches!(self, Self::Answered { status: GONE, .. })
    }

    /// What is recorded of it: the status, or the reason why there is none.
    pub(super) fn record(&self) -> (Option<u16>, Option<String>) {
        match self {
            Self::Answered { status, .. } => (Some(*status), None),
            Self::Unanswered { error } => (None, Some(error.clone())),
        }
    }

    /// The pause before a request is repeated that has failed this many times: what the receiver asks for, within limits, or
    /// the usual one, which depends on the id of what is sent.
    pub fn pause(&self, id: RecordId, failures: u32) -> Duration {
        match self {
            Self::Answered { retry_after: Some(asked), .. } => (*asked).clamp(SHORTEST, LONGEST),
            _ => retry_delay(id, failures),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered { status, .. } => write!(f, "status {status}"),
            Self::Unanswered { error } => f.write_str(error),
        }
    }
}

/// What the log says about a webhook.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// All requests have failed since then.
    Failing {
        /// The first failure.
        since: Timestamp,
    },
    /// It is disabled.
    Disabled(DisabledReason),
}

/// A delivery after the answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settled<D = WebhookDelivery> {
    /// The delivery.
    pub delivery: D,
    /// What the log says.
    pub notice: Option<Notice>,
}

impl WebhookDelivery {
    /// Records the answer to the request that was begun last. `ledger` is the agent's own record of the message: while it
    /// has an attempt that is open or has failed, a success does not end the delivery.
    pub fn settle(&mut self, reply: &Reply, ledger: Option<&Delivery>, now: Timestamp) {
        self.leased_until = None;
        (self.status, self.error) = reply.record();
        let (id, requests) = (self.id.into(), self.in_a_row(now));
        let delay = match ledger.map(Delivery::status) {
            _ if !reply.is_success() => reply.pause(id, requests),
            Some(DeliveryStatus::Processing) => WORKING_PAUSE,
            Some(DeliveryStatus::Failed) => retry_delay(id, requests),
            _ => return self.end(WebhookOutcome::Delivered, now),
        };
        self.next_attempt_at = now.plus(delay);
    }

    /// The number of requests up to this time since the delivery began or started over, as far as pauses depend on it.
    fn in_a_row(&self, at: Timestamp) -> u32 {
        in_a_row(self.attempts, at.since(self.created_at))
    }
}

impl Webhook {
    /// Records the answer to a request.
    pub fn settle(&mut self, reply: &Reply, now: Timestamp) -> Option<Notice> {
        if reply.is_success() {
            (self.failing_since, self.warned_at) = (None, None);
            return None;
        }
        let since = *self.failing_since.get_or_insert(now);
        if self.disabled.is_some() {
            return None;
        }
        let reason = match reply {
            _ if reply.is_gone() => Some(DisabledReason::Gone),
            _ if self.warned_at.is_some_and(|at| now.since(at) + WARNED_AFTER >= DISABLED_AFTER) => {
                Some(DisabledReason::Failing)
            }
            _ => None,
        };
        if let Some(reason) = reason {
            self.disabled = Some(Disabled { at: now, reason });
            return Some(Notice::Disabled(reason));
        }
        if self.warned_at.is_none() && now.since(since) >= WARNED_AFTER {
            self.warned_at = Some(now);
            return Some(Notice::Failing { since });
        }
        None
    }
}

/// What to do about a delivery whose turn has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resumption {
    /// Send it.
    Send,
    /// Look at it again at this time.
    Wait(Timestamp),
    /// End it.
    End(WebhookOutcome),
}

impl Resumption {
    /// Decides on what the ledger says about the message; `None` if the message is gone, or was never for the agent.
    ///
    /// While an attempt is open, the agent may be at work, and the request is not repeated: as long as the attempt claims
    /// the message, and without a claim until it is older than `stuck_after`. A receiver that has said that it failed ends
    /// this wait, but not a claim.
    pub fn of(
        sent: &WebhookDelivery,
        ledger: Option<&Delivery>,
        stuck_after: Duration,
        now: Timestamp,
    ) -> Self {
        let Some(ledger) = ledger.filter(|ledger| ledger.is_addressed()) else {
            return Self::End(WebhookOutcome::Dropped);
        };
        match ledger.status() {
            DeliveryStatus::Processed => Self::End(WebhookOutcome::Delivered),
            DeliveryStatus::Dead | DeliveryStatus::Held => Self::End(WebhookOutcome::Dropped),
            // What was delivered before is sent because the owner, or the order of the room, asks for it.
            DeliveryStatus::Delivered
                if sent.attempted_at.is_some() && ledger.delivered_at() >= Some(sent.created_at) =>
            {
                Self::End(WebhookOutcome::Delivered)
            }
            DeliveryStatus::Failed if LastResponse::of(sent) == LastResponse::Success => {
                let asked_at = sent.attempted_at.unwrap_or(now);
                Self::after(asked_at.plus(retry_delay(sent.id.into(), sent.in_a_row(asked_at))), now)
            }
            DeliveryStatus::New | DeliveryStatus::Delivered | DeliveryStatus::Failed => Self::Send,
            DeliveryStatus::Processing => Self::during(sent, ledger, stuck_after, now),
        }
    }

    /// Decides while an attempt is open.
    fn during(sent: &WebhookDelivery, ledger: &Delivery, stuck_after: Duration, now: Timestamp) -> Self {
        let started_at = ledger.attempts().last().map_or(now, |attempt| attempt.started_at);
        let until = match (ledger.claimed_until(), LastResponse::of(sent)) {
            (Some(claimed_until), _) => claimed_until,
            (None, LastResponse::Failure) => now,
            (None, LastResponse::Unknown) => started_at.plus(stuck_after),
            // One that was answered without a new attempt is not repeated at once.
            (None, LastResponse::Success) => {
                started_at.max(sent.attempted_at.unwrap_or(now)).plus(stuck_after)
            }
        };
        match Self::after(until, now) {
            // The attempt may be closed before.
            Self::Wait(until) => Self::Wait(now.plus(WORKING_PAUSE).min(until)),
            other => other,
        }
    }

    /// Sends it at this time.
    fn after(time: Timestamp, now: Timestamp) -> Self {
        if now < time { Self::Wait(time) } else { Self::Send }
    }
}

/// What the last request tells about the work of the agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LastResponse {
    /// Nothing: there was none, or only something between the server and the receiver has answered.
    Unknown,
    /// The receiver has said that it took the message.
    Success,
    /// It has said that it failed.
    Failure,
}

impl LastResponse {
    fn of(sent: &WebhookDelivery) -> Self {
        match sent.status {
            // Gateways respond with these when the receiver is lost or too slow, so the agent may still be at work.
            None | Some(408 | 502..=504 | 520..=529) => Self::Unknown,
            Some(200..=299) => Self::Success,
            Some(_) => Self::Failure,
        }
    }
}

#[cfg(test)]
mod tests;
