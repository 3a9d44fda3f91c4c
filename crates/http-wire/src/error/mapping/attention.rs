//! Failures of the use cases on what waits for a human.

use domain::attention::{AnswerAttentionError, AnsweredBy, Decision, DismissAttentionError};
use serde_json::{Map, json};

use crate::error::{ApiError, ErrorCode};

impl From<AnswerAttentionError> for ApiError {
    fn from(error: AnswerAttentionError) -> Self {
        match error {
            AnswerAttentionError::NotFound => item_not_found(),
            AnswerAttentionError::Answered(by) => ended(by),
            AnswerAttentionError::NeedsText => Self::validation()
                .with_detail("/answer/content", "is required for this item, without a decision"),
            AnswerAttentionError::NeedsDecision(decisions) => {
                let words = decisions.into_iter().map(Decision::as_str).collect::<Vec<_>>().join(", ");
                let fault = format!("must be one of {words}, without content");
                Self::validation().with_detail("/answer/decision", fault)
            }
            AnswerAttentionError::TakesNone => Self::new(
                ErrorCode::Conflict,
                "This item takes no answer. Dismiss a notice; retry work, or take it out of the queue; enable, change, or remove a webhook.",
            ),
            AnswerAttentionError::AskerLeft => Self::new(
                ErrorCode::Conflict,
                "The agent that asked is not in the room any more. Add it to the room, or dismiss the item.",
            ),
            AnswerAttentionError::Send(error) => error.into(),
            AnswerAttentionError::Contact(error) => error.into(),
            AnswerAttentionError::Store(error) => error.into(),
        }
    }
}

impl From<DismissAttentionError> for ApiError {
    fn from(error: DismissAttentionError) -> Self {
        match error {
            DismissAttentionError::NotFound => item_not_found(),
            DismissAttentionError::Ended(by) => ended(by),
            DismissAttentionError::Guest => Self::new(
                ErrorCode::Forbidden,
                "Only people of the room's organization, or of the asking agent's, can dismiss this item.",
            ),
            DismissAttentionError::Store(error) => error.into(),
        }
    }
}

fn item_not_found() -> ApiError {
    ApiError::new(
        ErrorCode::NotFound,
        "No attention item with this id is visible to you. List what waits for you to find the id.",
    )
}

/// An item that somebody has answered or dismissed, or that was resolved.
fn ended(by: Option<AnsweredBy>) -> ApiError {
    let Some(by) = by else {
        return ApiError::new(ErrorCode::Conflict, "This item is already settled. Show it to see how.");
    };
    let message = format!("@{} already answered or dismissed this item. Show it to see how.", by.handle);
    let who = json!({"id": by.id.to_string(), "handle": by.handle, "name": by.name});
    let details = Map::from_iter([("answered_by".to_owned(), who)]);
    ApiError::new(ErrorCode::Conflict, message).with_details(details)
}

/// The failure of a text that answers an item that has ended.
pub(super) fn answered() -> ApiError {
    ended(None)
}
