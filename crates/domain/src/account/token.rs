//! Tokens: signed, short-lived credentials of a human, accepted in place of an API key.
//!
//! A token is issued by a process that can read this installation's signing key, lives fifteen
//! minutes at most, and is not stored. It states the user at the time of issue; whether that user
//! still exists in the same organization, and whether its session is still open, is read from the
//! store, or from the cache ([`super::cache`]).

use std::sync::Arc;
use std::time::Duration;

use super::authenticate::{AuthenticateError, Authenticated, Presented, PresentedSession, PresentedToken};
use super::cache::CallerCache;
use super::handle::UserHandle;
use super::port::{AccountRepository, AccountStatus};
use super::user::User;
use crate::caller::UserCaller;
use crate::id::{OrganizationId, ParticipantId, SessionId, UserId};
use crate::ports::{Clock, TokenMint};
use crate::store::StoreError;
use crate::time::Timestamp;

/// The longest life of a token.
pub const MAX_TOKEN_LIFETIME: Duration = Duration::from_secs(15 * 60);

/// The maximum difference between the clock of the issuer and this one.
const CLOCK_SKEW: Duration = Duration::from_secs(30);

/// The claims of a token. Times are in whole seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenClaims {
    /// The user.
    pub user: UserId,
    /// The organization of the user at that time.
    pub organization: OrganizationId,
    /// The time at which the user's password was set; `None` without one.
    pub password_set_at: Option<Timestamp>,
    /// Its session; `None` for a token of the operator, and in those that older versions issued.
    pub session: Option<SessionId>,
    /// The time of issue.
    pub issued_at: Timestamp,
    /// The expiry.
    pub expires_at: Timestamp,
}

impl TokenClaims {
    /// The lifetime, in seconds.
    pub const fn lifetime_seconds(&self) -> i64 {
        (self.expires_at.micros() - self.issued_at.micros()) / 1_000_000
    }

    /// Returns whether the token is valid at `now`: not expired, not from the future, and without
    /// an excessive lifetime.
    pub fn is_current(&self, now: Timestamp) -> bool {
        let longest = self.issued_at.plus(MAX_TOKEN_LIFETIME);
        self.issued_at < self.expires_at
            && self.expires_at <= longest
            && self.issued_at <= now.plus(CLOCK_SKEW)
            && now < self.expires_at.plus(CLOCK_SKEW)
    }
}

/// A token to be issued.
#[derive(Clone, Debug)]
pub struct IssueToken {
    /// The user.
    pub user: UserHandle,
    /// The lifetime.
    pub lifetime: Duration,
}

/// An issued token with its user.
#[derive(Clone)]
pub struct IssuedToken {
    /// The user.
    pub user: User,
    /// The secret text.
    pub token: String,
    /// The claims.
    pub claims: TokenClaims,
}

/// The reason why no token was issued.
#[derive(Debug, thiserror::Error)]
pub enum IssueTokenError {
    /// Less than a second, or more than [`MAX_TOKEN_LIFETIME`].
    #[error("a token lives 1 to {} seconds", MAX_TOKEN_LIFETIME.as_secs())]
    Lifetime,
    /// No user has the handle.
    #[error("there is no user with this handle")]
    NoSuchUser,
    /// The user is disabled, so the token would be useless.
    #[error("the user is disabled")]
    Disabled,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Use cases on tokens.
pub struct TokenService {
    accounts: Arc<dyn AccountRepository>,
    clock: Arc<dyn Clock>,
    tokens: Arc<dyn TokenMint>,
    cache: Arc<CallerCache>,
}

impl TokenService {
    /// Wires tokens to their ports.
    pub fn new(
        accounts: Arc<dyn AccountRepository>,
        clock: Arc<dyn Clock>,
        tokens: Arc<dyn TokenMint>,
        cache: Arc<CallerCache>,
    ) -> Self {
        Self { accounts, clock, tokens, cache }
    }

    /// Authenticates `presented`, the text of a token.
    pub async fn authenticate(&self, presented: &str) -> Result<Authenticated, AuthenticateError> {
        let claims = self.tokens.verify(presented).ok_or(AuthenticateError::Unauthorized)?;
        let now = self.clock.now();
        if !claims.is_current(now) {
            return Err(AuthenticateError::Unauthorized);
        }
        let status = async { self.accounts.find_account_status(claims.user).await };
        let is_meant = |status: &AccountStatus| {
            status.organization == claims.organization && status.password_set_at == claims.password_set_at
        };
        let admits = |status: &AccountStatus| !status.is_disabled && is_meant(status);
        match self.cache.status(claims.user, self.clock.steady(), admits, status).await? {
            Some(status) if status.is_disabled => {
                Err(AuthenticateError::Disabled(ParticipantId::User(claims.user)))
            }
            Some(status) if is_meant(&status) => {
                let session = match claims.session {
                    Some(id) => Some(self.open_session(id, claims.user).await?),
                    None => None,
                };
                let caller = UserCaller { user: claims.user, organization: status.organization };
                let password_set_at = status.password_set_at;
                let expires_at = session.is_none().then_some(claims.expires_at);
                let presented = Presented::Token(PresentedToken {
                    user: claims.user,
                    password_set_at,
                    session,
                    expires_at,
                });
                Ok(Authenticated { caller: caller.into(), permits: status.permits, presented })
            }
            // The user was deleted, or moved to another organization since the issue; or the
            // password has changed, which ends its tokens.
            _ => Err(AuthenticateError::Unauthorized),
        }
    }

    /// The session of a token, unless it has ended.
    async fn open_session(&self, id: SessionId, user: UserId) -> Result<PresentedSession, AuthenticateError> {
        let stored = async { self.accounts.find_session(id).await };
        let found = self.cache.session(id, self.clock.steady(), stored).await?;
        let open = found.filter(|open| open.user == user).ok_or(AuthenticateError::Unauthorized)?;
        Ok(PresentedSession { id, began_at: open.began_at })
    }

    /// Issues a token for a user.
    pub async fn issue(&self, command: IssueToken) -> Result<IssuedToken, IssueTokenError> {
        let lifetime = Duration::from_secs(command.lifetime.as_secs());
        if lifetime.is_zero() || command.lifetime > MAX_TOKEN_LIFETIME {
            return Err(IssueTokenError::Lifetime);
        }
        let found = self.accounts.find_user_by_handle(&command.user).await?;
        let user = found.ok_or(IssueTokenError::NoSuchUser)?;
        if user.disabled_at.is_some() {
            return Err(IssueTokenError::Disabled);
        }
        let status = self.accounts.find_account_status(user.id).await?.ok_or(IssueTokenError::NoSuchUser)?;
        Ok(self.sign(user, status.password_set_at, None, lifetime))
    }

    /// Issues a token of a session, for a user who has just authenticated, under the password set
    /// at that time.
    pub fn issue_now(
        &self,
        user: User,
        password_set_at: Option<Timestamp>,
        session: SessionId,
    ) -> IssuedToken {
        self.sign(user, password_set_at, Some(session), MAX_TOKEN_LIFETIME)
    }

    fn sign(
        &self,
        user: User,
        password_set_at: Option<Timestamp>,
        session: Option<SessionId>,
        lifetime: Duration,
    ) -> IssuedToken {
        let issued_at = whole_second(self.clock.now());
        let claims = TokenClaims {
            user: user.id,
            organization: user.organization,
            password_set_at,
            session,
            issued_at,
            expires_at: issued_at.plus(lifetime),
        };
        IssuedToken { token: self.tokens.sign(&claims), user, claims }
    }
}

/// The second of a time; tokens have no fractions.
fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_micros(at.micros().div_euclid(1_000_000) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// Claims with these times, in seconds after an arbitrary time.
    fn claims(from: i64, until: i64) -> TokenClaims {
        TokenClaims {
            user: UserId::new(Uuid::from_u128(1)),
            organization: OrganizationId::new(Uuid::from_u128(2)),
            password_set_at: None,
            session: None,
            issued_at: at(from),
            expires_at: at(until),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros((1_000_000 + seconds) * 1_000_000)
    }

    #[test]
    fn a_token_is_good_for_its_time_and_half_a_minute_of_skew() {
        let token = claims(0, 900);
        for (now, good) in [(-31, false), (-30, true), (0, true), (899, true), (929, true), (930, false)] {
            assert_eq!(token.is_current(at(now)), good, "{now}");
        }
    }

    #[test]
    fn a_token_that_lives_too_long_or_not_at_all_is_never_good() {
        assert!(claims(0, 1).is_current(at(0)));
        for (from, until) in [(0, 901), (0, 0), (10, 0), (0, i64::MAX / 1_000_000 - 1_000_000)] {
            assert!(!claims(from, until).is_current(at(0)), "{from} to {until}");
        }
    }
}
