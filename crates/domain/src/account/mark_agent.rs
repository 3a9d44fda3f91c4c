//! What the operator says about an agent, whoever owns it.

use super::agent::Agent;
use super::port::MarkAgent;
use super::service::AccountService;
use crate::event::DomainEvent;
use crate::store::{OnCommit, StoreError};

/// What is to change; what is `None` stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AgentMarks {
    /// Whether everybody may work with it.
    pub is_global: Option<bool>,
    /// Whether the owner's organization sees it.
    pub shared_with_organization: Option<bool>,
    /// Whether it stands in the directory.
    pub listed_in_directory: Option<bool>,
}

impl AccountService {
    /// Marks the agent with this handle, brought to its stored form; `None` if there is none.
    pub async fn mark_agent(&self, handle: &str, marks: AgentMarks) -> Result<Option<Agent>, StoreError> {
        let command = MarkAgent { handle: handle.to_owned(), marks, now: self.clock.now() };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |agent: &Agent| {
            events.publish(DomainEvent::AgentUpdated { agent: agent.clone() });
        });
        self.accounts.mark_agent(command, on_commit).await
    }
}
