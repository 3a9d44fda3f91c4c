//! Changing the own password: all sessions end, and the caller gets a new one.

use super::confirm::ConfirmError;
use super::log_in::LoggedIn;
use super::password::Password;
use super::port::{PasswordHolder, SessionKind, SessionProof, SetPassword};
use super::second_factor::SecondProof;
use super::service::LoginService;
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::store::OnCommit;

impl LoginService {
    /// Sets another password for a caller who knows the current one. Keys and the second factor stay valid;
    /// sessions and tokens end.
    pub async fn change_password(
        &self,
        caller: UserCaller,
        current: Password,
        new: Password,
    ) -> Result<LoggedIn, ConfirmError> {
        self.check_passwords()?;
        let (_, known) = self.prove(caller, current).await?;
        let password = self.hasher.hash(new).await?;
        let (user, replaces, now) = (caller.user, Some(known.set_at), self.clock.now());
        let command = SetPassword { user, password, replaces, by: user.into(), now };
        let holder = self.logins.set_password(command, self.announce_end()).await?;
        let holder = holder.ok_or(ConfirmError::Wrong)?;
        let proof = SessionProof::Password(holder.password_set_at, SecondProof::Exempt);
        self.begin(user, proof, SessionKind::Program, None).await?.ok_or(ConfirmError::Wrong)
    }

    /// Announces the end of everything that an older password has opened.
    pub(super) fn announce_end(&self) -> OnCommit<PasswordHolder> {
        let events = self.events.clone();
        OnCommit::new(move |holder: &PasswordHolder| {
            let (user, password_set_at) = (holder.user.id, holder.password_set_at);
            events.publish(DomainEvent::TokensEnded { user, password_set_at });
        })
    }
}
