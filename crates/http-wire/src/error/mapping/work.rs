//! Failures of the use cases on work.

use domain::work::{ChangeAllError, ChangeWorkError, ChangeWorkRefused, FindWorkError, ListWorkError};

use crate::error::{ApiError, ErrorCode};

impl From<ListWorkError> for ApiError {
    fn from(error: ListWorkError) -> Self {
        match error {
            ListWorkError::NotAdmin(refused) => refused.into(),
            ListWorkError::Store(error) => error.into(),
        }
    }
}

impl From<FindWorkError> for ApiError {
    fn from(error: FindWorkError) -> Self {
        match error {
            FindWorkError::NotFound => Self::new(
                ErrorCode::NotFound,
                "None of your agents has this message to answer. List the open work of your agents.",
            ),
            FindWorkError::NotAdmin(refused) => refused.into(),
            FindWorkError::Store(error) => error.into(),
        }
    }
}

impl From<ChangeWorkError> for ApiError {
    fn from(error: ChangeWorkError) -> Self {
        let refused = match error {
            ChangeWorkError::Refused(refused) => refused,
            ChangeWorkError::Store(error) => return error.into(),
        };
        let conflict = |message: String| Self::new(ErrorCode::Conflict, message);
        match refused {
            ChangeWorkRefused::NotFound => FindWorkError::NotFound.into(),
            ChangeWorkRefused::NotAdmin(refused) => refused.into(),
            ChangeWorkRefused::State(state) => conflict(format!(
                "The work is {}, which does not allow this. Read it again, and decide by its current state.",
                state.as_str()
            )),
            ChangeWorkRefused::InProgress => conflict(
                "The agent is processing the message, and is not stuck yet. Wait, or dead-letter the work first."
                    .to_owned(),
            ),
            ChangeWorkRefused::NotAddressed => conflict(
                "The message does not mention the agent, so it cannot be offered to the agent. Send another one."
                    .to_owned(),
            ),
            ChangeWorkRefused::Replaced(by) => {
                conflict(format!("Message {by} replaces this message. Continue with message {by}."))
            }
            ChangeWorkRefused::NotInChat => Self::new(
                ErrorCode::Forbidden,
                "You are not a participant of the room, so you cannot send a message there. Ask a participant to add you.",
            ),
            ChangeWorkRefused::AgentNotInChat => Self::validation()
                .with_detail("/agent_id", "is not in the room of the message; add the agent to the room first"),
            ChangeWorkRefused::SameAgent => {
                Self::validation().with_detail("/agent_id", "must be another agent; use send-again for the same one")
            }
            ChangeWorkRefused::Limit(reached) => reached.into(),
        }
    }
}

impl From<ChangeAllError> for ApiError {
    fn from(error: ChangeAllError) -> Self {
        match error {
            ChangeAllError::NoFilter => {
                Self::validation().with_detail("/all", "must be true if the request has no filter")
            }
            ChangeAllError::NotRetryable => Self::validation().with_detail(
                "/state",
                "must be delivered, failed, or dead, unless the flag is stuck, failing, or dead",
            ),
            ChangeAllError::SameAgent => {
                Self::validation().with_detail("/to_agent_id", "must differ from agent_id in the filter")
            }
            ChangeAllError::NotAdmin(refused) => refused.into(),
            ChangeAllError::Store(error) => error.into(),
        }
    }
}
