//! Failures of the use cases on control.

use domain::chat::StopRefused;
use domain::control::{InterruptError, ListExecutionsError, PauseAgentError, StopError};

use super::account::agent_not_found;
use super::chat_not_found;
use crate::error::{ApiError, ErrorCode};

impl From<StopError> for ApiError {
    fn from(error: StopError) -> Self {
        match error {
            StopError::Refused(StopRefused::ChatNotFound) => chat_not_found(),
            StopError::Refused(StopRefused::NotOwner) => Self::new(
                ErrorCode::Forbidden,
                "Only an owner may stop the agents of the chat, or let them play. Ask one of its owners.",
            ),
            StopError::Store(error) => error.into(),
        }
    }
}

impl From<ListExecutionsError> for ApiError {
    fn from(error: ListExecutionsError) -> Self {
        match error {
            ListExecutionsError::AgentNotFound => agent_not_found(),
            ListExecutionsError::Store(error) => error.into(),
        }
    }
}

impl From<InterruptError> for ApiError {
    fn from(error: InterruptError) -> Self {
        match error {
            InterruptError::NotFound => Self::new(
                ErrorCode::NotFound,
                "You have no agent with this execution. List the executions of the agent to find its id.",
            ),
            InterruptError::Store(error) => error.into(),
        }
    }
}

impl From<PauseAgentError> for ApiError {
    fn from(error: PauseAgentError) -> Self {
        match error {
            PauseAgentError::AgentNotFound => Self::new(
                ErrorCode::NotFound,
                "No agent with this id belongs to you or to an organization that you administer.",
            ),
            PauseAgentError::Store(error) => error.into(),
        }
    }
}

/// The error for a message of a stopped agent. Clients look for its text.
pub(super) fn stopped() -> ApiError {
    ApiError::new(ErrorCode::Forbidden, "Agent execution is stopped")
}
