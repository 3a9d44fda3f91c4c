//! Receipts for senders: the state of a message at each agent that it is addressed to.

use super::service::DeliveryService;
use super::state::{Attempt, DeadLetter, Delivery, DeliveryStatus};
use crate::caller::Caller;
use crate::id::{AgentId, ChatId, MessageId, ParticipantId};
use crate::store::StoreError;
use crate::time::Timestamp;

/// The largest number of deliveries that are counted before another one in a queue.
pub const COUNTED_BEFORE: u32 = 1000;

/// The agent of a receipt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiptAgent {
    /// Identifier.
    pub id: AgentId,
    /// Its handle.
    pub handle: String,
    /// Its name.
    pub name: String,
    /// Set if its owner runs it.
    pub is_external: bool,
    /// Set if it is still a participant of the chat.
    pub in_chat: bool,
    /// Set if it is stopped in the chat.
    pub is_stopped: bool,
    /// Set if the agent or the organization of the chat is paused.
    pub is_paused: bool,
}

/// The state of a message at one agent. It contains neither errors nor reasons, which may be those of another
/// tenant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeliveryReceipt {
    /// The agent.
    pub agent: ReceiptAgent,
    /// The status of the delivery.
    pub status: DeliveryStatus,
    /// The time at which it got this status.
    pub changed_at: Timestamp,
    /// The number of deliveries that the agent is to process before this one, at most [`COUNTED_BEFORE`];
    /// `None` if the delivery is not in the queue any more, or the agent has left the chat.
    pub before: Option<u32>,
    /// The message that replaces this one for the agent.
    pub replaced_by: Option<MessageId>,
    /// The deadline of the message, if it has one.
    pub respond_by: Option<Timestamp>,
    /// Set if the sender of the message has cancelled it.
    pub is_cancelled: bool,
}

impl DeliveryReceipt {
    /// The receipt of a delivery of a message that was written at `written_at`. `before` is the number of open
    /// deliveries of the agent in the chat before it. It needs the newest attempt only.
    pub fn of(
        delivery: &Delivery,
        agent: ReceiptAgent,
        written_at: Timestamp,
        respond_by: Option<Timestamp>,
        before: u32,
    ) -> Self {
        let status = delivery.status();
        let newest = delivery.attempts().last();
        let times = [
            delivery.delivered_at(),
            newest.map(|newest| newest.started_at),
            newest.and_then(Attempt::completed_at),
            delivery.restart().map(|restart| restart.at),
            delivery.dead().map(|dead| dead.at),
        ];
        let changed_at = times.into_iter().flatten().fold(written_at, Timestamp::max);
        let is_open =
            !matches!(status, DeliveryStatus::Processed | DeliveryStatus::Dead | DeliveryStatus::Held);
        let before = (is_open && agent.in_chat).then_some(before);
        let is_cancelled = delivery.dead().is_some_and(DeadLetter::is_cancelled);
        Self {
            agent,
            status,
            changed_at,
            before,
            replaced_by: delivery.replaced_by(),
            respond_by,
            is_cancelled,
        }
    }
}

/// The reason why a store returned no receipts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiptsRefused {
    /// The viewer may not see the chat, or there is no such chat.
    ChatNotFound,
    /// The chat has no such message, or the viewer is an agent that did not send it.
    MessageNotFound,
}

/// Returns whether `viewer`, who may read the chat, sees the receipts of a message of `sender`: humans see
/// those of every message, agents those of their own.
pub fn may_see_receipts(viewer: ParticipantId, sender: ParticipantId) -> bool {
    viewer == sender || viewer.user().is_some()
}

/// The reason why receipts were not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadReceiptsError {
    /// The caller may not see the chat, or there is no such chat.
    #[error("there is no such chat for the caller")]
    ChatNotFound,
    /// The chat has no such message, or the caller is an agent that did not send it.
    #[error("there is no such message in the chat")]
    MessageNotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl DeliveryService {
    /// The state of a message at each agent that it is addressed to, by id.
    pub async fn receipts(
        &self,
        caller: impl Into<Caller>,
        chat: ChatId,
        message: MessageId,
    ) -> Result<Vec<DeliveryReceipt>, ReadReceiptsError> {
        let viewer = caller.into().participant();
        self.deliveries.receipts(viewer, chat, message).await?.map_err(|refused| match refused {
            ReceiptsRefused::ChatNotFound => ReadReceiptsError::ChatNotFound,
            ReceiptsRefused::MessageNotFound => ReadReceiptsError::MessageNotFound,
        })
    }

    /// Returns whether the agent of a receipt is connected; a platform agent always is.
    pub fn is_connected(&self, receipt: &DeliveryReceipt) -> bool {
        let agent = &receipt.agent;
        self.presence.is_present(ParticipantId::Agent(agent.id), Some(agent.is_external))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::delivery::{DeadLetterReason, FailureText};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn a_receipt_has_the_state_its_time_and_its_place() {
        let id = AgentId::new(Uuid::from_u128(7));
        let error = FailureText::new("no model".to_owned()).unwrap();
        let reason = DeadLetterReason::new("no key".to_owned()).unwrap();
        let new = Delivery::new(id);
        let taken = new.clone().delivered(at(2));
        let begun = taken.clone().begin_attempt(at(3));
        let failed = begun.clone().fail(&error, at(4)).unwrap();
        let dead = failed.clone().dead_letter(&reason, at(5)).unwrap();
        let cancelled = failed.clone().dead_letter(&DeadLetterReason::cancelled(), at(5)).unwrap();
        let retried = dead.clone().retry(at(0), at(6)).unwrap();
        let processed = begun.clone().succeed(at(9)).unwrap();
        for (delivery, status, changed_at, before) in [
            (new, DeliveryStatus::New, 1, Some(3)),
            (taken, DeliveryStatus::Delivered, 2, Some(3)),
            (begun, DeliveryStatus::Processing, 3, Some(3)),
            (failed, DeliveryStatus::Failed, 4, Some(3)),
            (dead, DeliveryStatus::Dead, 5, None),
            (cancelled, DeliveryStatus::Dead, 5, None),
            (retried, DeliveryStatus::New, 6, Some(3)),
            (processed, DeliveryStatus::Processed, 9, None),
        ] {
            let text = String::new;
            let agent = ReceiptAgent {
                id,
                handle: text(),
                name: text(),
                is_external: true,
                in_chat: true,
                is_stopped: false,
                is_paused: false,
            };
            let left = ReceiptAgent { in_chat: false, ..agent.clone() };
            assert_eq!(DeliveryReceipt::of(&delivery, left, at(1), None, 3).before, None);
            let receipt = DeliveryReceipt::of(&delivery, agent.clone(), at(1), Some(at(9)), 3);
            let expected = DeliveryReceipt {
                agent,
                status,
                changed_at: at(changed_at),
                before,
                replaced_by: None,
                respond_by: Some(at(9)),
                is_cancelled: delivery.dead().is_some_and(|dead| dead.reason.starts_with("Cancelled")),
            };
            assert_eq!(receipt, expected);
        }
    }
}
