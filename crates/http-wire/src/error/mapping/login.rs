//! Passwords and sessions.

use domain::login::{ChangePasswordError, HasherBusy, LogInError, RefreshError, ResetPasswordError};

use crate::error::{ApiError, ErrorCode};

/// After how many seconds somebody may come again who found all places taken.
const RETRY_SECONDS: u32 = 1;

impl From<HasherBusy> for ApiError {
    fn from(_: HasherBusy) -> Self {
        Self::new(ErrorCode::RateLimited, "Too many log in right now, try again")
            .with_retry_after(RETRY_SECONDS)
    }
}

impl From<LogInError> for ApiError {
    fn from(error: LogInError) -> Self {
        match error {
            LogInError::Wrong => wrong("The name or the password is wrong"),
            LogInError::Busy(busy) => busy.into(),
            LogInError::Store(error) => error.into(),
        }
    }
}

impl From<RefreshError> for ApiError {
    fn from(error: RefreshError) -> Self {
        match error {
            RefreshError::Unknown => wrong("The refresh token is not valid; log in again"),
            RefreshError::Store(error) => error.into(),
        }
    }
}

impl From<ChangePasswordError> for ApiError {
    fn from(error: ChangePasswordError) -> Self {
        match error {
            ChangePasswordError::Wrong => Self::validation().with_detail("/current_password", "is wrong"),
            ChangePasswordError::Busy(busy) => busy.into(),
            ChangePasswordError::Store(error) => error.into(),
        }
    }
}

impl From<ResetPasswordError> for ApiError {
    fn from(error: ResetPasswordError) -> Self {
        match error {
            ResetPasswordError::Unknown => wrong("The reset token is not valid"),
            ResetPasswordError::Busy(busy) => busy.into(),
            ResetPasswordError::Store(error) => error.into(),
        }
    }
}

fn wrong(message: &str) -> ApiError {
    ApiError::new(ErrorCode::Unauthorized, message)
}
