//! Setting a password with a token of the operator: for users without a password, or who have
//! forgotten it.

use std::time::Duration;

use super::failures::FailedLogin;
use super::federation::PasswordsOff;
use super::log_in::LoggedIn;
use super::password::{HasherBusy, Password};
use super::port::{ResetPurpose, SessionKind, SessionProof, UseReset};
use super::second_factor::{CodeError, SecondProof, TypedCode};
use super::service::LoginService;
use crate::account::{KeyDigest, KeyKind, User, UserHandle};
use crate::id::UserId;
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

/// The use of a reset token. It holds secrets, so it is never shown.
#[derive(Clone)]
pub struct ResetPassword {
    /// The secret text.
    pub token: String,
    /// The new password.
    pub new: Password,
    /// The code of the second factor, if it is given.
    pub code: Option<TypedCode>,
    /// The client.
    pub kind: SessionKind,
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
    /// The code is not accepted. The token stays valid.
    #[error(transparent)]
    Code(#[from] CodeError),
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

    /// Sets a password and opens a session. Nothing is hashed for an invalid token, and without a code if the account has
    /// a second factor.
    pub async fn reset_password(
        &self,
        token: &str,
        new: Password,
        kind: SessionKind,
    ) -> Result<LoggedIn, ResetPasswordError> {
        let command = ResetPassword { token: token.to_owned(), new, code: None, kind };
        self.reset_password_if(command, |_| true).await
    }

    /// Like [`Self::reset_password`], with a code that is compared only if `may_try_code` allows it.
    pub async fn reset_password_if(
        &self,
        command: ResetPassword,
        may_try_code: impl FnOnce(UserId) -> bool,
    ) -> Result<LoggedIn, ResetPasswordError> {
        self.check_passwords()?;
        let token = self.mint.digest(&command.token);
        let user = self.find_reset(token).await?.ok_or(ResetPasswordError::Unknown)?;
        let failed = FailedLogin::of(Some(user), None);
        let proof = self.second_proof(user, command.code.as_ref(), failed, may_try_code).await??;
        let is_code = proof.is_code();
        let password = self.hasher.hash(command.new).await?;
        let reset = UseReset { token, password, proof, now: self.clock.now() };
        let Some(holder) = self.logins.reset_password(reset, self.announce_end()).await? else {
            // Either the token or the code was used meanwhile.
            let is_valid = is_code && self.find_reset(token).await? == Some(user);
            return Err(if is_valid { CodeError::Wrong.into() } else { ResetPasswordError::Unknown });
        };
        let proof = SessionProof::Password(holder.password_set_at, SecondProof::Exempt);
        let open = self.begin(holder.user.id, proof, command.kind, None).await?;
        open.ok_or(ResetPasswordError::Unknown)
    }

    async fn find_reset(&self, token: KeyDigest) -> Result<Option<UserId>, StoreError> {
        self.logins.find_reset(token, ResetPurpose::Password, self.clock.now()).await
    }
}
