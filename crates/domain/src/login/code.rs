//! Logging in with a code of the operator, without a password and without a provider: the way in when the provider is down.

use std::net::IpAddr;
use std::time::Duration;

use super::log_in::LoggedIn;
use super::port::{NewReset, ResetPurpose, SessionKind, SessionProof};
use super::reset_password::{IssueResetError, IssuedReset};
use super::service::LoginService;
use crate::account::{KeyKind, UserHandle};
use crate::store::StoreError;

/// The lifetime of a log-in code.
pub const LOGIN_CODE_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// The reason why a code opened no session.
#[derive(Debug, thiserror::Error)]
pub enum CodeLogInError {
    /// The code is unknown, used, or expired, or its user is disabled.
    #[error("the log-in code is not valid")]
    Unknown,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LoginService {
    /// Issues a log-in code for a user; earlier ones, and a reset token, become invalid.
    pub async fn issue_login_code(&self, handle: &UserHandle) -> Result<IssuedReset, IssueResetError> {
        self.issue(handle, ResetPurpose::LogIn, KeyKind::LogIn, LOGIN_CODE_LIFETIME).await
    }

    /// Issues a token in place of any other of the user.
    pub(super) async fn issue(
        &self,
        handle: &UserHandle,
        purpose: ResetPurpose,
        kind: KeyKind,
        lifetime: Duration,
    ) -> Result<IssuedReset, IssueResetError> {
        let found = self.users.find_user_by_handle(handle).await?;
        let user = found.ok_or(IssueResetError::NoSuchUser)?;
        let now = self.clock.now();
        let token = self.mint.mint(kind, now);
        let expires_at = now.plus(lifetime);
        let new = NewReset { user: user.id, token: token.digest(), purpose, expires_at, now };
        self.logins.issue_reset(new).await?;
        Ok(IssuedReset { user, token: token.reveal().to_owned(), expires_at })
    }

    /// Opens a session of a browser with a code, which is used up.
    pub async fn log_in_with_code(
        &self,
        code: &str,
        address: Option<IpAddr>,
    ) -> Result<LoggedIn, CodeLogInError> {
        let code = self.mint.digest(code.trim());
        let found = self.logins.find_reset(code, ResetPurpose::LogIn, self.clock.now()).await?;
        let user = found.ok_or(CodeLogInError::Unknown)?;
        let open = self.begin(user, SessionProof::Code(code), SessionKind::Browser, address).await?;
        open.ok_or(CodeLogInError::Unknown)
    }
}
