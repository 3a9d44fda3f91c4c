//! Tokens: signed, short-lived statements of who a human is, accepted in place of an API key.
//!
//! A token is made by whoever may read this installation's signing key, lives fifteen minutes at
//! the most, and is not stored. It says who somebody was when it was made; whether that user
//! still exists, and is where they were, and whether the session that it belongs to is still open, is asked of the
//! store, or known ([`super::cache`]).

use std::sync::Arc;
use std::time::Duration;

use super::authenticate::{AuthenticateError, Authenticated, Presented, PresentedSession, PresentedToken};
use super::cache::CallerCache;
use super::handle::UserHandle;
use super::port::{AccountRepository, UserStanding};
use super::user::User;
use crate::caller::UserCaller;
use crate::id::{OrganizationId, ParticipantId, SessionId, UserId};
use crate::ports::{Clock, TokenMint};
use crate::store::StoreError;
use crate::time::Timestamp;

/// The longest life of a token.
pub const MAX_TOKEN_LIFETIME: Duration = Duration::from_secs(15 * 60);

/// By how much the clock of whoever made a token may differ from this one.
const CLOCK_SKEW: Duration = Duration::from_secs(30);

/// What a token says. Times are in whole seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenClaims {
    /// Who.
    pub user: UserId,
    /// The organization that the user belonged to.
    pub organization: OrganizationId,
    /// When the password was set that the user had; `None` without one.
    pub password_set_at: Option<Timestamp>,
    /// The session that it belongs to; `None` for a token of the operator, and in those that older versions made.
    pub session: Option<SessionId>,
    /// When it was made.
    pub issued_at: Timestamp,
    /// Until when it is good.
    pub expires_at: Timestamp,
}

impl TokenClaims {
    /// Whether the token is good at `now`: not expired, not from the future, and not made to
    /// live longer than any token may.
    pub fn is_current(&self, now: Timestamp) -> bool {
        let longest = self.issued_at.plus(MAX_TOKEN_LIFETIME);
        self.issued_at < self.expires_at
            && self.expires_at <= longest
            && self.issued_at <= now.plus(CLOCK_SKEW)
            && now < self.expires_at.plus(CLOCK_SKEW)
    }
}

/// A token to be made.
#[derive(Clone, Debug)]
pub struct IssueToken {
    /// For whom.
    pub user: UserHandle,
    /// How long it is to live.
    pub lifetime: Duration,
}

/// A token and whom it is for.
#[derive(Clone)]
pub struct IssuedToken {
    /// The user.
    pub user: User,
    /// The secret text.
    pub token: String,
    /// What it says.
    pub claims: TokenClaims,
}

/// Why no token was made.
#[derive(Debug, thiserror::Error)]
pub enum IssueTokenError {
    /// Less than a second, or more than [`MAX_TOKEN_LIFETIME`].
    #[error("a token lives 1 to {} seconds", MAX_TOKEN_LIFETIME.as_secs())]
    Lifetime,
    /// Nobody has the handle.
    #[error("there is no user with this handle")]
    NoSuchUser,
    /// The user is kept out, so the token would be good for nothing.
    #[error("the user is disabled")]
    Disabled,
    /// The store gave no answer.
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

    /// Whom `presented`, the text of a token, stands for.
    pub async fn authenticate(&self, presented: &str) -> Result<Authenticated, AuthenticateError> {
        let claims = self.tokens.verify(presented).ok_or(AuthenticateError::Unauthorized)?;
        let now = self.clock.now();
        if !claims.is_current(now) {
            return Err(AuthenticateError::Unauthorized);
        }
        let standing = async { self.accounts.find_standing(claims.user).await };
        let is_meant = |standing: &UserStanding| {
            standing.organization == claims.organization && standing.password_set_at == claims.password_set_at
        };
        let admits = |standing: &UserStanding| !standing.is_disabled && is_meant(standing);
        match self.cache.standing(claims.user, self.clock.steady(), admits, standing).await? {
            Some(standing) if standing.is_disabled => {
                Err(AuthenticateError::Disabled(ParticipantId::User(claims.user)))
            }
            Some(standing) if is_meant(&standing) => {
                let session = match claims.session {
                    Some(id) => Some(self.open_session(id, claims.user).await?),
                    None => None,
                };
                let caller = UserCaller { user: claims.user, organization: standing.organization };
                let password_set_at = standing.password_set_at;
                let expires_at = session.is_none().then_some(claims.expires_at);
                let presented = Presented::Token(PresentedToken {
                    user: claims.user,
                    password_set_at,
                    session,
                    expires_at,
                });
                Ok(Authenticated { caller: caller.into(), permits: standing.permits, presented })
            }
            // Gone, or moved to another organization since: the token speaks of somebody else. Or the password
            // is another one since, which ends what was open.
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

    /// Makes a token for a user.
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
        let standing = self.accounts.find_standing(user.id).await?.ok_or(IssueTokenError::NoSuchUser)?;
        Ok(self.sign(user, standing.password_set_at, None, lifetime))
    }

    /// Makes a token of a session, for a user who has just proved who they are, under the password that was set then.
    pub fn issue_now(&self, user: User, password_set_at: Timestamp, session: SessionId) -> IssuedToken {
        self.sign(user, Some(password_set_at), Some(session), MAX_TOKEN_LIFETIME)
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

/// The second that an instant lies in; tokens know no parts of one.
fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_micros(at.micros().div_euclid(1_000_000) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// Claims from and until so many seconds after an arbitrary instant.
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
