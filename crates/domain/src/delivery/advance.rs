//! Working on a message: opening an attempt, closing it as done or failed.

use super::port::{AdvanceDelivery, AdvanceRefused, Advanced, DeliveryStep};
use super::service::DeliveryService;
use super::state::DeliveryStatus;
use crate::caller::AgentCaller;
use crate::event::DomainEvent;
use crate::id::{ChatId, MessageId};
use crate::store::{OnCommit, StoreError};

/// Why a step was not taken.
#[derive(Debug, thiserror::Error)]
pub enum AdvanceError {
    /// The caller is not in the room, or the message is not of this room.
    #[error("there is no such message for the caller")]
    NotFound,
    /// There is no open attempt to close.
    #[error("there is no active processing attempt")]
    NoActiveAttempt,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a step led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepResult {
    /// The message.
    pub message: MessageId,
    /// The room.
    pub chat_id: ChatId,
    /// Where the delivery stands now.
    pub status: DeliveryStatus,
    /// The attempt that was opened or closed.
    pub attempt_number: u32,
}

impl DeliveryService {
    /// Takes a step; the humans in the room hear of it.
    pub async fn advance(
        &self,
        caller: AgentCaller,
        chat: ChatId,
        message: MessageId,
        step: DeliveryStep,
    ) -> Result<StepResult, AdvanceError> {
        let command = AdvanceDelivery { agent: caller.agent, chat, message, step, now: self.clock.now() };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |advanced: &Advanced| {
            events.publish(DomainEvent::MessageUpdated { message: advanced.message.clone() });
        });
        match self.deliveries.advance(command, on_commit).await? {
            Ok(Advanced { delivery, .. }) => Ok(StepResult {
                message,
                chat_id: chat,
                status: delivery.status(),
                attempt_number: delivery.current_attempt(),
            }),
            Err(AdvanceRefused::NotFound) => Err(AdvanceError::NotFound),
            Err(AdvanceRefused::NoActiveAttempt) => Err(AdvanceError::NoActiveAttempt),
        }
    }
}
