//! Sessions: going on with a refresh token, logging out, and a user's view of the own ones.
//!
//! The text of a refresh token is that of its session's family and, behind a point, one of its own. Whoever shows the
//! family with another end than the newest shows a token that was exchanged already: one of two who have it, or
//! had, is not who it was given to. So the session ends.

use std::time::Duration;

use super::log_in::LoggedIn;
use super::port::{
    EndSessions, RefreshRefused, RefreshSession, RefreshedSession, SessionRecord, WhichSessions,
};
use super::service::LoginService;
use crate::account::{KeyDigest, KeyKind};
use crate::caller::UserCaller;
use crate::event::DomainEvent;
use crate::id::SessionId;
use crate::ports::KeyMint;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// How long a refresh token is good; so a session that nobody goes on with ends by itself.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Why a session does not go on.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    /// The token is of no session, or that is over. It may just have ended, as the token was shown twice.
    #[error("the refresh token is not valid")]
    Unknown,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a session was not ended.
#[derive(Debug, thiserror::Error)]
pub enum EndSessionError {
    /// The caller has no such session, or not any more.
    #[error("there is no such session of the caller")]
    NotFound,
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The text of a refresh token.
pub(super) struct RefreshText(String);

impl RefreshText {
    /// Of a new session.
    pub(super) fn first(mint: &dyn KeyMint, now: Timestamp) -> Self {
        Self::next_of(mint.mint(KeyKind::Session, now).reveal(), mint, now)
    }

    fn next_of(family: &str, mint: &dyn KeyMint, now: Timestamp) -> Self {
        Self(format!("{family}.{}", mint.mint(KeyKind::Session, now).reveal()))
    }

    /// What somebody shows, if it can be one.
    fn shown(text: &str) -> Option<Self> {
        text.contains('.').then(|| Self(text.to_owned()))
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    fn family_text(&self) -> &str {
        self.0.split_once('.').map_or("", |(family, _)| family)
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
            Ok(RefreshedSession { id, holder }) => Ok(self.opened(id, holder, &next, expires_at)),
            Err(RefreshRefused::Unknown | RefreshRefused::Reused(_)) => Err(RefreshError::Unknown),
        }
    }

    /// Ends a session, also by a refresh token of it that was exchanged already: whoever has that wants out.
    pub async fn log_out(&self, shown: &str) -> Result<(), RefreshError> {
        let shown = RefreshText::shown(shown).ok_or(RefreshError::Unknown)?;
        let ended = self.end(WhichSessions::Family(shown.family(&*self.mint))).await?;
        if ended.is_empty() { Err(RefreshError::Unknown) } else { Ok(()) }
    }

    /// The caller's sessions that can still go on, the last used first.
    pub async fn list_sessions(&self, caller: UserCaller) -> Result<Vec<SessionRecord>, StoreError> {
        self.logins.list_sessions(caller.user, self.clock.now()).await
    }

    /// Ends one of the caller's sessions, also the one that the call belongs to.
    pub async fn end_session(&self, caller: UserCaller, session: SessionId) -> Result<(), EndSessionError> {
        let ended = self.end(WhichSessions::Own(caller.user, session)).await?;
        if ended.is_empty() { Err(EndSessionError::NotFound) } else { Ok(()) }
    }

    /// Ends all of the caller's sessions but the `current` one.
    pub async fn end_other_sessions(
        &self,
        caller: UserCaller,
        current: Option<SessionId>,
    ) -> Result<(), StoreError> {
        self.end(WhichSessions::Others(caller.user, current)).await.map(|_| ())
    }

    async fn end(&self, which: WhichSessions) -> Result<Vec<SessionId>, StoreError> {
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |ended: &Vec<SessionId>| {
            for session in ended {
                events.publish(DomainEvent::SessionEnded { session: *session });
            }
        });
        self.logins.end_sessions(EndSessions { which, now: self.clock.now() }, on_commit).await
    }
}

/// How many sessions and reset tokens are forgotten at a time.
const FORGOTTEN_AT_ONCE: u32 = 200;

impl LoginService {
    /// Forgets some of what has expired, and tells how many; to be called until it is none, now and then.
    pub async fn forget_some(&self) -> Result<u32, StoreError> {
        self.logins.forget_logins(self.clock.now(), FORGOTTEN_AT_ONCE).await
    }
}
