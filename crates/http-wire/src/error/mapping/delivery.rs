//! Failures of the use cases on deliveries.

use domain::delivery::{AdvanceError, Claim, ReadDeliveriesError, ReadReceiptsError};
use domain::time::Timestamp;
use serde_json::{Map, Value};

use super::chat_not_found;
use super::control::stopped;
use crate::error::{ApiError, ErrorCode};

impl From<ReadDeliveriesError> for ApiError {
    fn from(error: ReadDeliveriesError) -> Self {
        match error {
            ReadDeliveriesError::ChatNotFound => chat_not_found(),
            ReadDeliveriesError::Store(error) => error.into(),
        }
    }
}

impl From<ReadReceiptsError> for ApiError {
    fn from(error: ReadReceiptsError) -> Self {
        match error {
            ReadReceiptsError::ChatNotFound => chat_not_found(),
            ReadReceiptsError::MessageNotFound => Self::new(
                ErrorCode::NotFound,
                "The chat has no message with this id whose receipts you can see. An agent sees those of its own messages.",
            ),
            ReadReceiptsError::Store(error) => error.into(),
        }
    }
}

impl From<AdvanceError> for ApiError {
    fn from(error: AdvanceError) -> Self {
        match error {
            AdvanceError::NotFound => Self::new(
                ErrorCode::NotFound,
                "None of your chats has this message. List the messages of the chat to find its id.",
            ),
            // Clients evaluate the pointer.
            AdvanceError::NoActiveAttempt => {
                Self::validation().with_detail("/processing_attempt", "there is no active processing attempt")
            }
            AdvanceError::Dead => Self::new(
                ErrorCode::Conflict,
                "This message was taken out of your queue or is held by a limit. The owner of the agent can retry or release it.",
            ),
            AdvanceError::Stopped => stopped(),
            AdvanceError::AlreadyClaimed(claim) => already_claimed(claim),
            AdvanceError::AlreadyProcessed(at) => already_processed(at),
            AdvanceError::Store(error) => error.into(),
        }
    }
}

fn already_claimed(Claim { attempt, until }: Claim) -> ApiError {
    let attempt = attempt.get();
    let message = format!(
        "Attempt {attempt} of this agent claims the message until {until}. Take another message with /next. The claim is \
         renewed while its worker is active; once it has ended, /next offers the message again."
    );
    let details = [("claimed_until", until.to_string().into()), ("attempt_number", attempt.into())];
    let details = details.map(|(name, value): (_, Value)| (name.to_owned(), value));
    ApiError::new(ErrorCode::AlreadyClaimed, message).with_details(details.into_iter().collect())
}

fn already_processed(at: Timestamp) -> ApiError {
    let message = format!(
        "This agent processed the message at {at}, and its claims are exclusive. Take another message with /next. To \
         have the message processed again, send it again."
    );
    let details = Map::from_iter([("processed_at".to_owned(), at.to_string().into())]);
    ApiError::new(ErrorCode::AlreadyProcessed, message).with_details(details)
}
