//! Failures of the use cases on notifications.

use domain::notification::{ChannelKind, MAX_OF_USER, NotificationError};

use crate::error::{ApiError, ErrorCode};

impl From<NotificationError> for ApiError {
    fn from(error: NotificationError) -> Self {
        match error {
            NotificationError::NotFound => Self::new(
                ErrorCode::NotFound,
                "You have no notification channel with this id. List your channels to find it.",
            ),
            NotificationError::TooMany => Self::new(
                ErrorCode::Conflict,
                format!(
                    "You have {MAX_OF_USER} notification channels, which is the maximum. Remove one first."
                ),
            ),
            NotificationError::KindIsOff(kind) => Self::new(
                ErrorCode::Conflict,
                match kind {
                    ChannelKind::Email => {
                        "This server sends no email. Ask its operator to set smtp_url and smtp_from."
                    }
                    ChannelKind::Ntfy | ChannelKind::Webhook | ChannelKind::WebPush => {
                        "Webhooks are turned off on this server, and these notifications with them. Ask its operator to \
                         set webhooks = true."
                    }
                },
            ),
            NotificationError::Url(fault) => Self::validation().with_detail("/url", fault),
            NotificationError::Topic => Self::validation().with_detail(
                "/url",
                "must end with the name of a topic: 1 to 64 letters, digits, hyphens, and underscores",
            ),
            NotificationError::Keys => Self::validation()
                .with_detail("/p256dh", "must be the keys of a push subscription, with auth"),
            NotificationError::IsOff => {
                Self::new(ErrorCode::Conflict, "The notification channel is off. Switch it on first.")
            }
            NotificationError::Store(error) => error.into(),
        }
    }
}
