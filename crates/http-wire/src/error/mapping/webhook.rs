//! Failures of the use cases on webhooks.

use domain::webhook::{OrganizationWebhookError, ResendError, WebhookError};

use super::account::agent_not_found;
use crate::error::{ApiError, ErrorCode};

impl From<WebhookError> for ApiError {
    fn from(error: WebhookError) -> Self {
        match error {
            WebhookError::AgentNotFound => agent_not_found(),
            WebhookError::NoWebhook => {
                Self::new(ErrorCode::NotFound, "The agent has no webhook. PUT a url to create it.")
            }
            WebhookError::Off => off(),
            WebhookError::Url(fault) => Self::validation().with_detail("/url", fault),
            WebhookError::Store(error) => error.into(),
        }
    }
}

fn off() -> ApiError {
    let message = "Webhooks are turned off on this server. Ask its operator to set webhooks = true.";
    ApiError::new(ErrorCode::NotFound, message)
}

impl From<OrganizationWebhookError> for ApiError {
    fn from(error: OrganizationWebhookError) -> Self {
        match error {
            OrganizationWebhookError::NotAdmin(refused) => refused.into(),
            OrganizationWebhookError::NoWebhook => {
                Self::new(ErrorCode::NotFound, "The organization has no webhook. PUT a url to create it.")
            }
            OrganizationWebhookError::NoDelivery => Self::new(
                ErrorCode::NotFound,
                "The organization has no delivery with this id. They can be read for 7 days after they end.",
            ),
            OrganizationWebhookError::InFlight => Self::new(
                ErrorCode::Conflict,
                "A request is in flight, or another delivery has not ended. Wait until it has, and try again.",
            ),
            OrganizationWebhookError::Disabled => {
                Self::new(ErrorCode::Conflict, "The webhook is disabled. Enable it first.")
            }
            OrganizationWebhookError::Off => off(),
            OrganizationWebhookError::Url(fault) => Self::validation().with_detail("/url", fault),
            OrganizationWebhookError::Store(error) => error.into(),
        }
    }
}

impl From<ResendError> for ApiError {
    fn from(error: ResendError) -> Self {
        match error {
            ResendError::AgentNotFound => agent_not_found(),
            ResendError::NotFound => Self::new(
                ErrorCode::NotFound,
                "The agent has no delivery with this id. They can be read for 7 days after they end.",
            ),
            ResendError::InFlight => Self::new(
                ErrorCode::Conflict,
                "A request is in flight in this room, or another delivery there has not ended. Wait until it has, and try again.",
            ),
            ResendError::Over => Self::new(
                ErrorCode::Conflict,
                "The agent has processed this message, or the message is dead, held, or deleted. Retry the work instead.",
            ),
            ResendError::Store(error) => error.into(),
        }
    }
}
