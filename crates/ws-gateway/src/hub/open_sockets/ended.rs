//! Users, agents, and credentials that have recently ended: a socket that is being opened may have
//! been authenticated before that.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use domain::account::{Presented, PresentedToken};
use domain::caller::Caller;
use domain::id::{AgentId, ApiKeyId, SessionId, UserId};
use domain::time::Timestamp;
use tokio::time::Instant;

/// The maximum time from the authentication of a socket to its claim, with a wide margin.
const LONGEST_ADMISSION: Duration = Duration::from_secs(10 * 60);

/// The users, agents, and credentials that no new socket may have.
#[derive(Default)]
pub(super) struct Ended {
    pub(super) agents: Recent<AgentId>,
    pub(super) users: Recent<UserId>,
    pub(super) keys: Recent<ApiKeyId>,
    /// The users whose tokens have ended, with the time of the password change that ended them.
    pub(super) tokens: Recent<UserId, Timestamp>,
    pub(super) sessions: Recent<SessionId>,
}

impl Ended {
    /// Returns whether the caller is deleted or disabled, whatever the credential.
    pub(super) fn is_out(&self, caller: Caller) -> bool {
        let agent = caller.participant().agent();
        self.users.holds(&caller.accountable_user()) || agent.is_some_and(|agent| self.agents.holds(&agent))
    }

    /// Returns whether the credential of a new socket has ended since it was authenticated; the
    /// socket would stay open otherwise.
    pub(super) fn has_ended(&self, presented: Presented) -> bool {
        match presented {
            Presented::Key(key) => self.keys.holds(&key.id),
            Presented::Token(token) => {
                self.tokens.how_far(&token.user).is_some_and(|set_at| is_older(token, set_at))
                    || token.session.is_some_and(|session| self.sessions.holds(&session.id))
            }
        }
    }
}

/// Returns whether a token was issued under a password older than the one set at `set_at`.
pub(super) fn is_older(token: PresentedToken, set_at: Timestamp) -> bool {
    token.password_set_at.is_none_or(|own| own < set_at)
}

/// What has recently ended, to which extent, and when.
pub(super) struct Recent<T, F = ()>(HashMap<T, (F, Instant)>);

impl<T, F> Default for Recent<T, F> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Eq + Hash, F: Copy + Ord> Recent<T, F> {
    /// Of two extents, the larger one is kept, so the order of the calls does not matter.
    pub(super) fn note(&mut self, one: T, far: F) {
        self.0.retain(|_, (_, at)| at.elapsed() < LONGEST_ADMISSION);
        let far = self.0.get(&one).map_or(far, |(known, _)| far.max(*known));
        self.0.insert(one, (far, Instant::now()));
    }

    pub(super) fn forget(&mut self, one: &T) {
        self.0.remove(one);
    }

    fn holds(&self, one: &T) -> bool {
        self.0.contains_key(one)
    }

    fn how_far(&self, one: &T) -> Option<F> {
        self.0.get(one).map(|(far, _)| *far)
    }
}
