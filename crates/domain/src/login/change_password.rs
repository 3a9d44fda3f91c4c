//! Changing one's password: all sessions end, and whoever changed it gets a new one.

use super::failures::FailedLogin;
use super::log_in::LoggedIn;
use super::password::{HasherBusy, Password, Verdict};
use super::port::{SessionHolder, SetPassword, WhichLogin};
use super::service::LoginService;
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::store::{Announce, StoreError};

/// Why a password was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangePasswordError {
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
    /// Sets another password for whoever knows the current one. Keys stay good; sessions and tokens end.
    pub async fn change_password(
        &self,
        caller: UserCaller,
        current: Password,
        new: Password,
    ) -> Result<LoggedIn, ChangePasswordError> {
        let found = self.logins.find_login(WhichLogin::User(caller.user)).await?;
        let known = found.and_then(|found| found.password);
        let verdict = self.hasher.verify(current, known.as_ref().map(|known| known.hash.clone())).await?;
        let (Some(known), Verdict::Right | Verdict::RightButOutdated) = (known, verdict) else {
            self.note_failure(FailedLogin { user: Some(caller.user), address: None });
            return Err(ChangePasswordError::Wrong);
        };
        let password = self.hasher.hash(new).await?;
        let (user, replaces, now) = (caller.user, Some(known.set_at), self.clock.now());
        let command = SetPassword { user, password, replaces, now };
        let holder = self.logins.set_password(command, self.announce_end()).await?;
        let holder = holder.ok_or(ChangePasswordError::Wrong)?;
        self.begin(user, holder.password_set_at, None).await?.ok_or(ChangePasswordError::Wrong)
    }

    /// Tells that all that an older password has opened has ended.
    pub(super) fn announce_end(&self) -> Announce<SessionHolder> {
        let events = self.events.clone();
        Announce::new(move |holder: &SessionHolder| {
            let (user, password_set_at) = (holder.user.id, holder.password_set_at);
            events.publish(DomainEvent::TokensEnded { user, password_set_at });
        })
    }
}
