//! The operator's settings of an agent, of any owner.

use super::agent::Agent;
use super::port::MarkAgent;
use super::service::AccountService;
use crate::delivery::{Claims, MaxAttempts};
use crate::event::DomainEvent;
use crate::store::{OnCommit, StoreError};

/// The changes; `None` leaves a value unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AgentMarks {
    /// Makes it a global agent or not.
    pub is_global: Option<bool>,
    /// Shares it with the owner's organization or not.
    pub shared_with_organization: Option<bool>,
    /// Lists it in the directory or not.
    pub listed_in_directory: Option<bool>,
    /// The number of attempts after which a message is dead for it; `Some(None)` for no limit.
    pub max_attempts: Option<Option<MaxAttempts>>,
    /// Whether an attempt of it claims the message; applies to attempts that begin after the change.
    pub claims: Option<Claims>,
    /// Lists it for A2A or not.
    pub a2a: Option<bool>,
}

impl AccountService {
    /// Applies settings to the agent with this handle in its stored form; `None` if there is none.
    pub async fn mark_agent(&self, handle: &str, marks: AgentMarks) -> Result<Option<Agent>, StoreError> {
        let command = MarkAgent { handle: handle.to_owned(), marks, now: self.clock.now() };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |agent: &Agent| {
            events.publish(DomainEvent::AgentUpdated { agent: agent.clone() });
        });
        self.accounts.mark_agent(command, on_commit).await
    }
}
