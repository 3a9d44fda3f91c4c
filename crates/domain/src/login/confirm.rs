//! Confirming the password, before a logged-in user creates a credential that outlives the session.

use std::time::Duration;

use super::failures::FailedLogin;
use super::federation::PasswordsOff;
use super::password::{HasherBusy, Password, PasswordCheck};
use super::port::{StoredPassword, WhichLogin};
use super::service::LoginService;
use crate::account::{PresentedSession, User};
use crate::caller::UserCaller;
use crate::store::StoreError;

/// How long after the log-in no confirmation is needed.
pub const CONFIRMED_FOR: Duration = Duration::from_secs(10 * 60);

/// The reason why the caller was not confirmed.
#[derive(Debug, thiserror::Error)]
pub enum ConfirmError {
    /// The log-in was too long ago, and no password was given.
    #[error("the current password is required")]
    Missing,
    /// The current password is a different one, or there is none.
    #[error("the current password is wrong")]
    Wrong,
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
    /// Confirms the caller by the current password; without one, only shortly after the log-in, or
    /// if the caller has no session: with a key, or a token of the operator.
    pub async fn confirm(
        &self,
        caller: UserCaller,
        session: Option<PresentedSession>,
        current: Option<Password>,
    ) -> Result<(), ConfirmError> {
        match (current, session) {
            (Some(current), _) => self.prove(caller, current).await.map(|_| ()),
            (None, Some(session)) if session.began_at.plus(CONFIRMED_FOR) <= self.clock.now() => {
                Err(ConfirmError::Missing)
            }
            (None, _) => Ok(()),
        }
    }

    /// Checks the caller's password. A wrong one counts as a failed log-in.
    pub(super) async fn prove(
        &self,
        caller: UserCaller,
        current: Password,
    ) -> Result<(User, StoredPassword), ConfirmError> {
        let found = self.logins.find_login(WhichLogin::User(caller.user)).await?;
        let (user, known) = found.map_or((None, None), |found| (Some(found.user), found.password));
        let verdict = self.hasher.verify(current, known.as_ref().map(|known| known.hash.clone())).await?;
        let (Some(user), Some(known), PasswordCheck::Right | PasswordCheck::RightButOutdated) =
            (user, known, verdict)
        else {
            self.note_failure(FailedLogin::of(Some(caller.user), None));
            return Err(ConfirmError::Wrong);
        };
        Ok((user, known))
    }
}
