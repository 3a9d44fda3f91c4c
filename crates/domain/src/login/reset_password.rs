//! Setting a password with a token of the operator: for users without a password, or who have
//! forgotten it.

use std::time::Duration;

use super::federation::PasswordsOff;
use super::log_in::LoggedIn;
use super::password::{HasherBusy, Password};
use super::port::{ResetPurpose, SessionKind, SessionProof};
use super::service::LoginService;
use crate::account::{KeyKind, User, UserHandle};
use crate::store::StoreError;
use crate::time::Timestamp;

/// The lifetime of a reset token.
pub const RESET_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// A reset token, which is shown only here.
#[derive(Clone)]
pub struct IssuedReset {
    /// The user whose password it can set.
    pub user: User,
    /// The secret text.
    pub token: String,
    /// The expiry.
    pub expires_at: Timestamp,
}

/// The reason why no reset token was issued.
#[derive(Debug, thiserror::Error)]
pub enum IssueResetError {
    /// No user has the handle.
    #[error("there is no user with this handle")]
    NoSuchUser,
    /// Nobody can log in with a password.
    #[error(transparent)]
    PasswordsOff(#[from] PasswordsOff),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why no password was set.
#[derive(Debug, thiserror::Error)]
pub enum ResetPasswordError {
    /// The token is unknown, used, or expired.
    #[error("the reset token is not valid")]
    Unknown,
    /// Nobody can log in with a password.
    #[error(transparent)]
    PasswordsOff(#[from] PasswordsOff),
    /// Too many passwords are being checked.
    #[error(transparent)]
    Busy(#[from] HasherBusy),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LoginService {
    /// Issues a reset token for a user; earlier ones become invalid.
    pub async fn issue_reset(&self, handle: &UserHandle) -> Result<IssuedReset, IssueResetError> {
        self.check_passwords()?;
        self.issue(handle, ResetPurpose::Password, KeyKind::Reset, RESET_LIFETIME).await
    }

    /// Sets a password and opens a session. Nothing is hashed for an invalid token.
    pub async fn reset_password(
        &self,
        token: &str,
        new: Password,
        kind: SessionKind,
    ) -> Result<LoggedIn, ResetPasswordError> {
        self.check_passwords()?;
        let token = self.mint.digest(token);
        let found = self.logins.find_reset(token, ResetPurpose::Password, self.clock.now()).await?;
        if found.is_none() {
            return Err(ResetPasswordError::Unknown);
        }
        let password = self.hasher.hash(new).await?;
        let now = self.clock.now();
        let reset = self.logins.reset_password(token, password, now, self.announce_end()).await?;
        let holder = reset.ok_or(ResetPasswordError::Unknown)?;
        let proof = SessionProof::Password(holder.password_set_at);
        self.begin(holder.user.id, proof, kind, None).await?.ok_or(ResetPasswordError::Unknown)
    }
}
