//! Asking for the password again, before somebody who is logged in makes a credential that outlives the session.

use std::time::Duration;

use super::failures::FailedLogin;
use super::password::{HasherBusy, Password, Verdict};
use super::port::{StoredPassword, WhichLogin};
use super::service::LoginService;
use crate::account::PresentedSession;
use crate::caller::UserCaller;
use crate::store::StoreError;

/// For how long after the log-in nobody is asked again.
pub const CONFIRMED_FOR: Duration = Duration::from_secs(10 * 60);

/// Why somebody is not taken for the user.
#[derive(Debug, thiserror::Error)]
pub enum ConfirmError {
    /// The log-in was too long ago, and no password was given.
    #[error("the current password is required")]
    Missing,
    /// The current password is another one, or there is none.
    #[error("the current password is wrong")]
    Wrong,
    /// More passwords wait to be looked at than may.
    #[error(transparent)]
    Busy(#[from] HasherBusy),
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LoginService {
    /// Lets pass who gives the current password; without one, who has logged in a moment ago or does not call with a
    /// session: a key, and a token of the operator.
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

    /// The caller's password, for whoever knows it. A wrong one is a failed log-in.
    pub(super) async fn prove(
        &self,
        caller: UserCaller,
        current: Password,
    ) -> Result<StoredPassword, ConfirmError> {
        let found = self.logins.find_login(WhichLogin::User(caller.user)).await?;
        let known = found.and_then(|found| found.password);
        let verdict = self.hasher.verify(current, known.as_ref().map(|known| known.hash.clone())).await?;
        let (Some(known), Verdict::Right | Verdict::RightButOutdated) = (known, verdict) else {
            self.note_failure(FailedLogin { user: Some(caller.user), address: None });
            return Err(ConfirmError::Wrong);
        };
        Ok(known)
    }
}
