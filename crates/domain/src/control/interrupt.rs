//! Interrupting an agent.

use super::execution::Execution;
use super::port::InterruptAgent;
use super::service::ControlService;
use super::signal::{ControlMode, ControlSignal};
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::{AgentId, ExecutionId, SignalId};
use crate::store::{OnCommit, StoreError};

/// The reason why an agent was not interrupted.
#[derive(Debug, thiserror::Error)]
pub enum InterruptError {
    /// The caller has no agent with this execution.
    #[error("there is no such execution of the caller's agent")]
    NotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ControlService {
    /// Signals one of the caller's agents to end its turns. Clients end those of all chats, whichever execution is
    /// named; later turns are not affected.
    pub async fn interrupt(
        &self,
        by: UserCaller,
        agent: AgentId,
        execution: ExecutionId,
    ) -> Result<Execution, InterruptError> {
        let now = self.clock.now();
        let (events, correlation_id) = (self.events.clone(), SignalId::new(self.ids.generate(now)));
        let on_commit = OnCommit::new(move |_: &Execution| {
            let signal = ControlSignal {
                mode: ControlMode::Interrupt,
                chat: None,
                execution,
                correlation_id,
                is_change: true,
            };
            events.publish(DomainEvent::AgentControlled { agent, signal });
        });
        let command = InterruptAgent { by, agent, execution, now };
        let found = self.control.interrupt(command, on_commit).await?;
        found.ok_or(InterruptError::NotFound)
    }
}
