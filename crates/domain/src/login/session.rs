//! Sessions: continuing with a refresh token, logging out, and listing own sessions.
//!
//! A refresh token consists of the family of its session and, after a dot, a part of its own. If
//! the family is presented with another second part than the newest, the token was already
//! exchanged: one of the two clients that have had it is not the one it was issued to. The session
//! therefore ends. The token of a browser is the family alone.

use std::time::Duration;

use super::log_in::LoggedIn;
use super::port::{
    EndSessions, RefreshRefused, RefreshSession, RefreshedSession, ResumeSession, SessionKind, SessionRecord,
    WhichSessions,
};
use super::service::LoginService;
use crate::account::{KeyDigest, KeyKind};
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::SessionId;
use crate::ports::KeyMint;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The lifetime of a refresh token; an unused session ends after that time.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The time after which a further use of a browser's session is recorded.
pub const RECORDED_EVERY: Duration = Duration::from_secs(60);

/// The reason why a session was not continued.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    /// The token belongs to no session, or that has ended, possibly because of this repeated use.
    #[error("the refresh token is not valid")]
    Unknown,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a session was not ended.
#[derive(Debug, thiserror::Error)]
pub enum EndSessionError {
    /// The caller does not have the session, or not any more.
    #[error("there is no such session of the caller")]
    NotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The text of a refresh token.
pub(super) struct RefreshText(String);

impl RefreshText {
    /// The first token of a session, or its only one.
    pub(super) fn first(mint: &dyn KeyMint, kind: SessionKind, now: Timestamp) -> Self {
        let family = mint.mint(KeyKind::Session, now);
        match kind {
            SessionKind::Program => Self::next_of(family.reveal(), mint, now),
            SessionKind::Browser => Self(family.reveal().to_owned()),
        }
    }

    fn next_of(family: &str, mint: &dyn KeyMint, now: Timestamp) -> Self {
        Self(format!("{family}.{}", mint.mint(KeyKind::Session, now).reveal()))
    }

    /// Parses a presented token; `None` if it is malformed.
    fn shown(text: &str) -> Option<Self> {
        text.contains('.').then(|| Self(text.to_owned()))
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    fn family_text(&self) -> &str {
        self.0.split_once('.').map_or(&*self.0, |(family, _)| family)
    }

    pub(super) fn family(&self, mint: &dyn KeyMint) -> KeyDigest {
        mint.digest(self.family_text())
    }

    pub(super) fn digest(&self, mint: &dyn KeyMint) -> KeyDigest {
        mint.digest(&self.0)
    }
}

impl LoginService {
    /// Exchanges a refresh token for the next pair.
    pub async fn refresh(&self, shown: &str) -> Result<LoggedIn, RefreshError> {
        let shown = RefreshText::shown(shown).ok_or(RefreshError::Unknown)?;
        let now = self.clock.now();
        let next = RefreshText::next_of(shown.family_text(), &*self.mint, now);
        let expires_at = now.plus(SESSION_LIFETIME);
        let command = RefreshSession {
            family: shown.family(&*self.mint),
            token: shown.digest(&*self.mint),
            next: next.digest(&*self.mint),
            expires_at,
            now,
        };
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |session: &SessionId| {
            events.publish(DomainEvent::SessionEnded { session: *session });
        });
        match self.logins.refresh(command, on_commit).await? {
            Ok(RefreshedSession { id, holder, expires_at }) => {
                Ok(self.opened(id, holder, &next, (expires_at, now)))
            }
            Err(RefreshRefused::Unknown | RefreshRefused::Reused(_)) => Err(RefreshError::Unknown),
        }
    }

    /// Continues the session of a browser.
    pub async fn resume(&self, shown: &str) -> Result<LoggedIn, RefreshError> {
        let (shown, now) = (RefreshText(shown.to_owned()), self.clock.now());
        let (family, expires_at) = (shown.digest(&*self.mint), now.plus(SESSION_LIFETIME));
        let resumed = self.logins.resume(ResumeSession { family, expires_at, now }).await?;
        let RefreshedSession { id, holder, expires_at } = resumed.ok_or(RefreshError::Unknown)?;
        Ok(self.opened(id, holder, &shown, (expires_at, now)))
    }

    /// Ends a session, also by a refresh token that was already exchanged: its holder wants to log
    /// out.
    pub async fn log_out(&self, shown: &str) -> Result<(), RefreshError> {
        let shown = RefreshText(shown.to_owned());
        let ended = self.end(WhichSessions::Family(shown.family(&*self.mint))).await?;
        if ended.is_empty() { Err(RefreshError::Unknown) } else { Ok(()) }
    }

    /// The caller's sessions that can be continued, the last used first.
    pub async fn list_sessions(&self, caller: UserCaller) -> Result<Vec<SessionRecord>, StoreError> {
        self.logins.list_sessions(caller.user, self.clock.now()).await
    }

    /// Ends one of the caller's sessions, including the current one.
    pub async fn end_session(&self, caller: UserCaller, session: SessionId) -> Result<(), EndSessionError> {
        let ended = self.end(WhichSessions::Own(caller.user, session)).await?;
        if ended.is_empty() { Err(EndSessionError::NotFound) } else { Ok(()) }
    }

    /// Ends all of the caller's sessions except the `current` one.
    pub async fn end_other_sessions(
        &self,
        caller: UserCaller,
        current: Option<SessionId>,
    ) -> Result<(), StoreError> {
        self.end(WhichSessions::Others(caller.user, current)).await.map(|_| ())
    }

    pub(super) async fn end(&self, which: WhichSessions) -> Result<Vec<SessionId>, StoreError> {
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |ended: &Vec<SessionId>| {
            for session in ended {
                events.publish(DomainEvent::SessionEnded { session: *session });
            }
        });
        self.logins.end_sessions(EndSessions { which, now: self.clock.now() }, on_commit).await
    }
}

/// The number of sessions and reset tokens that are deleted at a time.
const FORGOTTEN_AT_ONCE: u32 = 200;

impl LoginService {
    /// Deletes some sessions and tokens that have expired at `now`, and returns their number; must
    /// be called periodically, until it returns 0.
    pub async fn forget_some(&self, now: Timestamp) -> Result<u32, StoreError> {
        self.logins.forget_logins(now, FORGOTTEN_AT_ONCE).await
    }
}
