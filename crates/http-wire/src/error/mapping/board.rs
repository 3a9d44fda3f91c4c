//! Failures of the use cases on boards.

use domain::board::{BoardError, ChangeTaskError, CreateTaskError, SetGoalError, TaskRefused};

use super::{idempotency_key_reused, limit_reached, resource_not_found};
use crate::body::NOT_A_TASK;
use crate::error::{ApiError, ErrorCode};

impl From<BoardError> for ApiError {
    fn from(error: BoardError) -> Self {
        match error {
            BoardError::NotFound => resource_not_found(),
            BoardError::Store(error) => error.into(),
        }
    }
}

impl From<SetGoalError> for ApiError {
    fn from(error: SetGoalError) -> Self {
        match error {
            SetGoalError::NotFound => resource_not_found(),
            SetGoalError::Empty(empty) => Self::validation().with_detail("/goal_summary", empty),
            SetGoalError::Store(error) => error.into(),
        }
    }
}

impl From<CreateTaskError> for ApiError {
    fn from(error: CreateTaskError) -> Self {
        match error {
            CreateTaskError::NotFound => resource_not_found(),
            CreateTaskError::SupersededNotFound => {
                Self::validation().with_detail("/supersedes_id", NOT_A_TASK)
            }
            CreateTaskError::SupersededNotActive => not_active(),
            CreateTaskError::KeyReused => idempotency_key_reused(),
            CreateTaskError::Full { limit } => {
                let message = format!(
                    "This room has reached its limit of {limit} tasks. Completed, archived, cancelled, and superseded tasks count. \
                     Continue in another room, or ask the operator of the server for a higher limit."
                );
                limit_reached(message, "tasks", [u64::from(limit); 2], None)
            }
            CreateTaskError::Store(error) => error.into(),
        }
    }
}

impl From<ChangeTaskError> for ApiError {
    fn from(error: ChangeTaskError) -> Self {
        match error {
            ChangeTaskError::NotFound => resource_not_found(),
            ChangeTaskError::Refused(TaskRefused::NotActive) => not_active(),
            ChangeTaskError::Refused(refused @ TaskRefused::InvalidTransition { .. }) => {
                Self::validation().with_detail("/state", refused)
            }
            ChangeTaskError::Store(error) => error.into(),
        }
    }
}

/// The task that an attention event names.
pub(super) fn named_task_not_found() -> ApiError {
    ApiError::validation().with_detail("/event/metadata/task_id", NOT_A_TASK)
}

fn not_active() -> ApiError {
    ApiError::new(ErrorCode::TaskNotActive, "Work fields and comments require an active task")
}
