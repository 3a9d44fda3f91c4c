//! Steps of the work on a message: opening an attempt, closing it as done or failed.

use super::claim::Claim;
use super::outcome::AttemptOutcome;
use super::port::{AdvanceDelivery, AdvanceRefused, Advanced, DeliveryStep};
use super::service::DeliveryService;
use super::state::{AttemptNumber, DeliveryStatus};
use crate::caller::AgentCaller;
use crate::event::DomainEvent;
use crate::id::{ChatId, MessageId};
use crate::message::TraceParent;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The reason why a step was refused.
#[derive(Debug, thiserror::Error)]
pub enum AdvanceError {
    /// The caller is not in the chat, or the message is not part of it.
    #[error("there is no such message for the caller")]
    NotFound,
    /// There is no open attempt to close.
    #[error("there is no active processing attempt")]
    NoActiveAttempt,
    /// No attempt can be opened: the delivery is dead, possibly since this step.
    #[error("the message was taken out of the queue")]
    Dead,
    /// The agent is stopped in the chat.
    #[error("the agent is stopped in the chat")]
    Stopped,
    /// Another attempt of the agent claims the message.
    #[error("attempt {} claims the message until {}", .0.attempt.get(), .0.until)]
    AlreadyClaimed(Claim),
    /// An attempt of the agent has processed the message, and exclusive claims open nothing again.
    #[error("the message was processed at {0}")]
    AlreadyProcessed(Timestamp),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepResult {
    /// The message.
    pub message: MessageId,
    /// The chat.
    pub chat_id: ChatId,
    /// The status of the delivery after the step.
    pub status: DeliveryStatus,
    /// The attempt that was opened or closed.
    pub attempt_number: AttemptNumber,
    /// When its claim ends, if it claims the message.
    pub claimed_until: Option<Timestamp>,
    /// The message's place in a trace.
    pub traceparent: Option<TraceParent>,
}

impl DeliveryService {
    /// Takes a step, and notifies the humans in the chat.
    pub async fn advance(
        &self,
        caller: AgentCaller,
        chat: ChatId,
        message: MessageId,
        step: DeliveryStep,
    ) -> Result<StepResult, AdvanceError> {
        self.advance_attempt(caller, chat, message, step, None).await
    }

    /// Like [`Self::advance`], but only if `attempt`, if it is given, is the open one.
    pub async fn advance_attempt(
        &self,
        caller: AgentCaller,
        chat: ChatId,
        message: MessageId,
        step: DeliveryStep,
        attempt: Option<AttemptNumber>,
    ) -> Result<StepResult, AdvanceError> {
        let begins = step == DeliveryStep::Begin;
        let (agent, lease, now) = (caller.agent, self.lease, self.clock.now());
        let command = AdvanceDelivery { agent, chat, message, step, attempt, lease, now };
        let (events, attempts) = (self.events.clone(), self.attempts.clone());
        let on_commit = OnCommit::new(move |advanced: &Advanced| {
            if advanced.is_renewal {
                return;
            }
            attempts.count(AttemptOutcome::of_step(&advanced.delivery, begins));
            events.publish(DomainEvent::MessageUpdated { message: advanced.message.clone() });
        });
        match self.deliveries.advance(command, on_commit).await? {
            Ok(Advanced { delivery, .. }) if begins && delivery.dead().is_some() => Err(AdvanceError::Dead),
            Ok(Advanced { delivery, message: stored, .. }) => {
                let attempt_number = delivery.current_attempt();
                // The step is stored, so this is no refusal.
                let none = || StoreError::Broken("a step left no attempt".into());
                let attempt_number = attempt_number.ok_or_else(none)?;
                let (status, traceparent) = (delivery.status(), stored.traceparent);
                let claimed_until = delivery.claimed_until();
                Ok(StepResult { message, chat_id: chat, status, attempt_number, claimed_until, traceparent })
            }
            Err(AdvanceRefused::NotFound) => Err(AdvanceError::NotFound),
            Err(AdvanceRefused::NoActiveAttempt) => Err(AdvanceError::NoActiveAttempt),
            Err(AdvanceRefused::Dead) => Err(AdvanceError::Dead),
            Err(AdvanceRefused::Stopped) => Err(AdvanceError::Stopped),
            Err(AdvanceRefused::AlreadyClaimed(claim)) => Err(AdvanceError::AlreadyClaimed(claim)),
            Err(AdvanceRefused::AlreadyProcessed(at)) => Err(AdvanceError::AlreadyProcessed(at)),
        }
    }
}
