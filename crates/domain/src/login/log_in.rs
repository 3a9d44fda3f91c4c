//! Logging in with a handle or an e-mail address, and a password.

use std::net::IpAddr;
use std::time::Duration;

use super::failures::{FailedLogin, Refused};
use super::federation::PasswordsOff;
use super::name::TypedName;
use super::password::{HasherBusy, Password, PasswordCheck, PasswordHash};
use super::port::{NewSession, SessionHolder, SessionKind, SessionProof};
use super::second_factor::{CodeError, TypedCode};
use super::service::LoginService;
use super::session::{RefreshText, SESSION_LIFETIME};
use crate::account::{IssuedToken, KeyScope, PresentedKey};
use crate::caller::UserCaller;
use crate::id::{SessionId, UserId};
use crate::store::StoreError;
use crate::time::Timestamp;

/// A log-in.
#[derive(Clone, Debug)]
pub struct LogIn {
    /// A handle or an e-mail address.
    pub name: TypedName,
    /// The password.
    pub password: Password,
    /// The code of the second factor, if it is given.
    pub code: Option<TypedCode>,
    /// The client.
    pub kind: SessionKind,
    /// Its address, for the audit log.
    pub address: Option<IpAddr>,
}

/// An open session with its tokens.
#[derive(Clone)]
pub struct LoggedIn {
    /// The user, and the access token.
    pub access: IssuedToken,
    /// The refresh token, which is shown only here; the token of the session for a browser.
    pub refresh_token: String,
    /// The expiry of the refresh token.
    pub refresh_expires_at: Timestamp,
    /// The time until then.
    pub refresh_lifetime: Duration,
}

/// The reason why a log-in with a key failed.
#[derive(Debug, thiserror::Error)]
pub enum KeyLogInError {
    /// The key has a scope; a session would have none.
    #[error("the key is limited to a scope")]
    Scoped,
    /// The key was revoked meanwhile.
    #[error("the key is not valid")]
    Revoked,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What an attempt may guess at, each with limits of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guess {
    /// The password.
    Password,
    /// A code of the second factor, by somebody who knows the password.
    Code,
}

/// The reason why a log-in failed.
#[derive(Debug, thiserror::Error)]
pub enum LogInError {
    /// Unknown name or wrong password; the answer does not distinguish them.
    #[error("the name or the password is wrong")]
    Wrong,
    /// The password is right, and the code is not accepted.
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
    /// Refuses if nobody can log in with a password.
    pub(super) fn check_passwords(&self) -> Result<(), PasswordsOff> {
        if self.has_passwords() { Ok(()) } else { Err(PasswordsOff) }
    }

    /// Opens a session for a user who knows the password, and has a code if the account has a second factor. A hash with
    /// outdated parameters is replaced, since the password is available now.
    pub async fn log_in(&self, command: LogIn) -> Result<LoggedIn, LogInError> {
        self.log_in_if(command, |_, _| true).await
    }

    /// Like [`Self::log_in`], but the account's password and code are compared only if `may_try` allows it. If it does
    /// not allow the password, the answer and its cost are those of a wrong one: a caller must not learn that two names, a
    /// handle and an address, lead to one account whose attempts are used up.
    pub async fn log_in_if(
        &self,
        command: LogIn,
        mut may_try: impl FnMut(UserId, Guess) -> bool,
    ) -> Result<LoggedIn, LogInError> {
        self.check_passwords()?;
        let found = match command.name.which() {
            Some(which) => self.logins.find_login(which).await?,
            None => None,
        };
        let found = found.filter(|found| may_try(found.user.id, Guess::Password));
        let (user, known) = found.map_or((None, None), |found| (Some(found.user), found.password));
        let failed = FailedLogin::of(user.as_ref().map(|user| user.id), command.address);
        let hash = known.as_ref().map(|known| known.hash.clone());
        let verdict = self.hasher.verify(command.password.clone(), hash).await?;
        // Nobody learns that the password of a disabled user is right.
        let user = user.filter(|user| user.disabled_at.is_none());
        let (Some(user), Some(known), PasswordCheck::Right | PasswordCheck::RightButOutdated) =
            (user, known, verdict)
        else {
            self.note_failure(failed);
            return Err(LogInError::Wrong);
        };
        // Read only now: if it were read before, an unknown name would cost less than a wrong password.
        let may_try_code = |user| may_try(user, Guess::Code);
        let second =
            self.second_proof(user.id, command.code.as_ref(), failed.clone(), may_try_code).await??;
        let is_code = second.is_code();
        let proof = SessionProof::Password(known.set_at, second);
        let Some(open) = self.begin(user.id, proof, command.kind, command.address).await? else {
            let refused = if is_code { Refused::Code } else { Refused::Password };
            self.note_failure(FailedLogin { refused, ..failed });
            return Err(if is_code { CodeError::Wrong.into() } else { LogInError::Wrong });
        };
        if verdict == PasswordCheck::RightButOutdated {
            // The log-in succeeds even if this fails; the next one tries again.
            let _ = self.rehash(user.id, known.hash, command.password).await;
        }
        Ok(open)
    }

    async fn rehash(&self, user: UserId, old: PasswordHash, password: Password) -> Result<(), LogInError> {
        let new = self.hasher.hash(password).await?;
        Ok(self.logins.rehash(user, old, new).await?)
    }

    /// Opens a session of a browser for a user who has presented a key.
    pub async fn log_in_with_key(
        &self,
        caller: UserCaller,
        key: PresentedKey,
        address: Option<IpAddr>,
    ) -> Result<LoggedIn, KeyLogInError> {
        if key.scope != KeyScope::default() {
            return Err(KeyLogInError::Scoped);
        }
        let open = self.begin(caller.user, SessionProof::Key(key.id), SessionKind::Browser, address).await?;
        open.ok_or(KeyLogInError::Revoked)
    }

    /// Opens a session, unless what the user has proved has changed meanwhile or was used up.
    pub(super) async fn begin(
        &self,
        user: UserId,
        proof: SessionProof,
        kind: SessionKind,
        address: Option<IpAddr>,
    ) -> Result<Option<LoggedIn>, StoreError> {
        self.begin_for(SESSION_LIFETIME, user, proof, kind, address).await
    }

    /// Like [`Self::begin`], with the time after which the session ends if it is not continued.
    pub(super) async fn begin_for(
        &self,
        lifetime: Duration,
        user: UserId,
        proof: SessionProof,
        kind: SessionKind,
        address: Option<IpAddr>,
    ) -> Result<Option<LoggedIn>, StoreError> {
        let now = self.clock.now();
        let refresh = RefreshText::first(&*self.mint, kind, now);
        let expires_at = now.plus(lifetime);
        let id = SessionId::new(self.ids.generate(now));
        let session = NewSession {
            id,
            user,
            proof,
            kind,
            family: refresh.family(&*self.mint),
            token: refresh.digest(&*self.mint),
            expires_at,
            address,
            now,
        };
        let holder = self.logins.begin_session(session).await?;
        Ok(holder.map(|holder| self.opened(id, holder, &refresh, (expires_at, now))))
    }

    /// The tokens for the holder of a session, with its expiry and the current time.
    pub(super) fn opened(
        &self,
        session: SessionId,
        holder: SessionHolder,
        refresh: &RefreshText,
        (refresh_expires_at, now): (Timestamp, Timestamp),
    ) -> LoggedIn {
        let access = self.tokens.issue_now(holder.user, holder.password_set_at, session);
        let refresh_lifetime = refresh_expires_at.since(now);
        LoggedIn { access, refresh_token: refresh.reveal().to_owned(), refresh_expires_at, refresh_lifetime }
    }
}
