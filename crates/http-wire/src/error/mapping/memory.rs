//! Memories.

use domain::memory::{ChangeMemoryError, FindMemoryError, ListMemoriesError, StoreMemoryError};

use super::chat_not_found;
use crate::error::{ApiError, ErrorCode, unauthorized};

impl From<StoreMemoryError> for ApiError {
    fn from(error: StoreMemoryError) -> Self {
        let wrong =
            |name: &str, fault: &str| Self::validation().with_detail(format!("/memory/{name}"), fault);
        match error {
            StoreMemoryError::KindDoesNotFit => wrong("type", "does not belong to the system"),
            StoreMemoryError::SubjectMissing => wrong("subject_id", "can't be blank for the scope subject"),
            StoreMemoryError::SubjectNotFound => wrong("subject_id", "is not a user or agent that you know"),
            StoreMemoryError::SourceGone => unauthorized(),
            StoreMemoryError::Foreign(cause) => cause.into(),
            StoreMemoryError::Limit(reached) => reached.into(),
            StoreMemoryError::Store(error) => error.into(),
        }
    }
}

impl From<FindMemoryError> for ApiError {
    fn from(error: FindMemoryError) -> Self {
        match error {
            FindMemoryError::NotFound => memory_not_found(),
            FindMemoryError::Forbidden => Self::new(
                ErrorCode::Forbidden,
                "You may not read this memory. List the memories to see those that you may read.",
            ),
            FindMemoryError::Store(error) => error.into(),
        }
    }
}

impl From<ListMemoriesError> for ApiError {
    fn from(error: ListMemoriesError) -> Self {
        match error {
            ListMemoriesError::ChatNotFound => chat_not_found(),
            ListMemoriesError::Store(error) => error.into(),
        }
    }
}

impl From<ChangeMemoryError> for ApiError {
    fn from(error: ChangeMemoryError) -> Self {
        match error {
            ChangeMemoryError::NotFound => memory_not_found(),
            ChangeMemoryError::Forbidden => Self::new(
                ErrorCode::Forbidden,
                "You may not change this memory. Ask the agent that stored it, or its owner.",
            ),
            ChangeMemoryError::Unmovable(unmovable) => Self::validation().with_detail("/status", unmovable),
            ChangeMemoryError::Foreign(cause) => cause.into(),
            ChangeMemoryError::Store(error) => error.into(),
        }
    }
}

fn memory_not_found() -> ApiError {
    ApiError::new(
        ErrorCode::NotFound,
        "No memory with this id is visible to you. List the memories to find its id.",
    )
}
