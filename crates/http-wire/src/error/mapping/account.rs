//! Users, agents, and keys.

use domain::account::{
    ActAsError, AuthenticateError, CreateKeyError, DeleteAgentError, MAX_KEYS, OperatorError, OutOfScope,
    RegisterError, RevokeAnyKeyError, RevokeKeyError, RotateKeyError, SetDisabledError, UpdateAgentError,
};
use domain::id::ParticipantId;

use super::{idempotency_key_reused, unauthorized};
use crate::error::{ApiError, ErrorCode};

impl From<AuthenticateError> for ApiError {
    fn from(error: AuthenticateError) -> Self {
        match error {
            AuthenticateError::Unauthorized => unauthorized(),
            AuthenticateError::Disabled(_) => disabled(),
            AuthenticateError::Store(error) => error.into(),
        }
    }
}

impl From<ActAsError> for ApiError {
    fn from(error: ActAsError) -> Self {
        match error {
            ActAsError::PlanExcludesHumans => Self::new(
                ErrorCode::PlanRequired,
                "Your plan does not include the API for humans. Ask the operator of the server.",
            ),
            ActAsError::NotThisAgent(_) => Self::new(
                ErrorCode::Forbidden,
                "This credential cannot act as the agent named by agent_id. Use the agent's own key, or a key of its \
                 owner, and check agent_id.",
            ),
            ActAsError::OutOfScope(why) => why.into(),
            ActAsError::Disabled(_) => disabled(),
            ActAsError::Store(error) => error.into(),
        }
    }
}

fn disabled() -> ApiError {
    ApiError::new(ErrorCode::Forbidden, "This account is disabled. Ask the operator of the server.")
}

impl From<OperatorError> for ApiError {
    fn from(error: OperatorError) -> Self {
        match error {
            OperatorError::NotOperator => Self::new(
                ErrorCode::Forbidden,
                "Only administrators of the server can use this path: users whose role is admin.",
            ),
            OperatorError::LimitedKey => Self::new(
                ErrorCode::Forbidden,
                "A key with limits cannot be used on this path. Send a key without limits, or log in.",
            ),
            OperatorError::Store(error) => error.into(),
        }
    }
}

impl From<SetDisabledError> for ApiError {
    fn from(error: SetDisabledError) -> Self {
        match error {
            SetDisabledError::NotFound(ParticipantId::User(_)) => {
                Self::new(ErrorCode::NotFound, "There is no such user.")
            }
            SetDisabledError::NotFound(ParticipantId::Agent(_)) => {
                Self::new(ErrorCode::NotFound, "There is no such agent.")
            }
            SetDisabledError::Own => Self::new(
                ErrorCode::Conflict,
                "You cannot disable or enable your own account here. Use `parlance user disable` or `enable` on the server.",
            ),
            SetDisabledError::Store(error) => error.into(),
        }
    }
}

impl From<RegisterError> for ApiError {
    fn from(error: RegisterError) -> Self {
        match error {
            RegisterError::NameTaken => Self::validation().with_detail("name", "has already been taken"),
            RegisterError::Limit(reached) => reached.into(),
            RegisterError::OwnerGone => unauthorized(),
            RegisterError::KeyReused => idempotency_key_reused(),
            RegisterError::KeySpent => Self::new(
                ErrorCode::Conflict,
                "The agent is registered, and its key has been used or revoked. Rotate its key to get a new one.",
            ),
            RegisterError::Store(error) => error.into(),
        }
    }
}

impl From<UpdateAgentError> for ApiError {
    fn from(error: UpdateAgentError) -> Self {
        match error {
            UpdateAgentError::AgentNotFound => agent_not_found(),
            UpdateAgentError::NameTaken => Self::validation().with_detail("name", "has already been taken"),
            UpdateAgentError::Store(error) => error.into(),
        }
    }
}

impl From<OutOfScope> for ApiError {
    fn from(why: OutOfScope) -> Self {
        let message = match why {
            OutOfScope::ReadOnly => "The API key is read-only. Use a key that may make changes.",
            OutOfScope::Elsewhere => {
                "The API key is limited to one chat or agent, and this request is about something else. Use another key."
            }
        };
        Self::new(ErrorCode::Forbidden, message)
    }
}

impl From<CreateKeyError> for ApiError {
    fn from(error: CreateKeyError) -> Self {
        match error {
            CreateKeyError::ExpiryPast => {
                Self::validation().with_detail("/api_key/expires_at", "must lie in the future")
            }
            CreateKeyError::TooMany => Self::new(
                ErrorCode::Conflict,
                format!("You already have {MAX_KEYS} API keys. Revoke one that you no longer need."),
            ),
            CreateKeyError::AgentNotFound => {
                Self::validation().with_detail("/api_key/agent_id", "must be one of your agents")
            }
            CreateKeyError::ChatNotFound => {
                Self::validation().with_detail("/api_key/chat_id", "must be a chat that you can read")
            }
            CreateKeyError::UserGone => unauthorized(),
            CreateKeyError::KeyReused => idempotency_key_reused(),
            CreateKeyError::KeySpent => key_spent(),
            CreateKeyError::Store(error) => error.into(),
        }
    }
}

impl From<RevokeKeyError> for ApiError {
    fn from(error: RevokeKeyError) -> Self {
        match error {
            RevokeKeyError::KeyNotFound => Self::new(
                ErrorCode::NotFound,
                "You have no active API key with this id. List your keys to find it.",
            ),
            RevokeKeyError::Store(error) => error.into(),
        }
    }
}

impl From<RevokeAnyKeyError> for ApiError {
    fn from(error: RevokeAnyKeyError) -> Self {
        match error {
            RevokeAnyKeyError::NotFound => {
                Self::new(ErrorCode::NotFound, "There is no active API key with this id.")
            }
            RevokeAnyKeyError::Store(error) => error.into(),
        }
    }
}

impl From<RotateKeyError> for ApiError {
    fn from(error: RotateKeyError) -> Self {
        match error {
            RotateKeyError::AgentNotFound => agent_not_found(),
            RotateKeyError::HasNoKey => Self::new(
                ErrorCode::Conflict,
                "The server runs this agent, so it has no API key. Register an agent of your own to get one.",
            ),
            RotateKeyError::KeyReused => idempotency_key_reused(),
            RotateKeyError::KeySpent => key_spent(),
            RotateKeyError::Store(error) => error.into(),
        }
    }
}

impl From<DeleteAgentError> for ApiError {
    fn from(error: DeleteAgentError) -> Self {
        match error {
            DeleteAgentError::AgentNotFound => agent_not_found(),
            DeleteAgentError::HasWorked { executions } => Self::new(
                ErrorCode::ExecutionHistoryExists,
                format!(
                    "The agent has worked in {executions} chat(s). Send force=true to delete it together with the \
                     record of its work."
                ),
            )
            .with_detail("/force", "must be true for an agent that has worked"),
            DeleteAgentError::UnderHold(held) => held.into(),
            DeleteAgentError::Store(error) => error.into(),
        }
    }
}

/// A repeated request whose key was received after all, or has been replaced or revoked since.
fn key_spent() -> ApiError {
    ApiError::new(
        ErrorCode::Conflict,
        "The API key that this request created has been used or revoked. Send a request with another Idempotency-Key \
         to create a new one.",
    )
}

pub(super) fn agent_not_found() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "You have no agent with this id. List your agents to find it.")
}
