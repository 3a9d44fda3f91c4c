//! Deliveries: one text message on its way to one agent.
//!
//! A delivery is made for every agent that a text mentions, together with the message. The agent
//! opens an *attempt* and closes it as done or failed; a failed delivery, and one that a crashed
//! agent left open, is offered again. The rules are in [`state`]. Before its first attempt,
//! it is *delivered* once a socket of the agent took it. A delivery is *dead* after the agent's maximum
//! number of attempts, or if someone takes it out of the queue ([`state`], [`crate::work`]). An agent with several workers
//! may have each message [claimed](claim) by one of them.
//!
//! Invariants: only the newest attempt can be open, and the status of a delivery follows from that
//! attempt, or without one from `delivered_at`, unless it is dead. The stores keep no status. An agent
//! that crashed never comes back to close its own attempt, so another attempt can always be opened: at once, or after the
//! claim has ended.

mod advance;
mod announce_sent;
pub mod claim;
mod due;
mod mark_delivered;
mod outcome;
mod port;
mod quiet_chats;
mod read;
mod receipts;
pub mod redelivery;
mod service;
pub mod state;

pub use crate::page::Order;
pub use advance::{AdvanceError, StepResult};
pub use claim::{Claim, ClaimLease, ClaimRenewal, Claims, StepTerms};
pub use due::Due;
pub use outcome::{AttemptCounts, AttemptOutcome};
pub use port::{
    AdvanceDelivery, AdvanceRefused, Advanced, DeliveryFilter, DeliveryKey, DeliveryRepository, DeliveryStep,
    HasHumanSubscribers, NextMessage, RenewClaims,
};
pub use read::ReadDeliveriesError;
pub use receipts::{
    COUNTED_BEFORE, DeliveryReceipt, ReadReceiptsError, ReceiptAgent, ReceiptsRefused, may_see_receipts,
};
pub use redelivery::{
    BacklogWork, EXAMINED, Listening, RedeliveryPolicy, RedeliverySchedule, Searched, SubscriptionId,
    Unacknowledged,
};
pub use service::DeliveryService;
pub use state::{
    Attempt, AttemptNumber, AttemptState, AttemptStatus, DeadLetter, DeadLetterReason, Delivery,
    DeliveryStatus, FailureText, HeldBy, Inconsistent, InterventionRefused, MaxAttempts, NoActiveAttempt,
    Restart, StepRefused,
};

/// The number of attempts of a delivery that are shown, the newest ones; all are counted.
pub const SHOWN_ATTEMPTS: u32 = 50;

/// The number of bytes of an attempt's error that are shown with a message; the store keeps all of
/// them.
pub const SHOWN_ERROR_BYTES: usize = 512;

/// The shown part of an error, from its first bytes, one more than [`SHOWN_ERROR_BYTES`]: all of
/// it, or cut between two characters.
pub fn shown_error(mut bytes: Vec<u8>) -> String {
    let cut = bytes.len() > SHOWN_ERROR_BYTES;
    bytes.truncate(SHOWN_ERROR_BYTES);
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let whole = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.as_bytes()[..whole]).into_owned()
        }
    };
    if cut {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_cut_between_characters() {
        let shown = |text: &str| {
            let bytes = text.as_bytes();
            shown_error(bytes[..bytes.len().min(SHOWN_ERROR_BYTES + 1)].to_vec())
        };
        assert_eq!(shown("short"), "short");
        let full = "x".repeat(SHOWN_ERROR_BYTES);
        assert_eq!(shown(&full), full);
        assert_eq!(shown(&format!("{full}y")), format!("{full}…"));
        let emoji = "\u{1F600}".repeat(SHOWN_ERROR_BYTES);
        assert_eq!(
            shown(&format!("a{emoji}")),
            format!("a{}…", "\u{1F600}".repeat((SHOWN_ERROR_BYTES - 1) / 4))
        );
    }
}
