//! Finding out who presents a key.

use super::scope::{KeyScope, OutOfScope, Reach};
use super::service::AccountService;
use crate::caller::{AgentCaller, Caller};
use crate::id::{AgentId, ApiKeyId, ParticipantId, SessionId, UserId};
use crate::plan::Permits;
use crate::store::StoreError;
use crate::time::Timestamp;

/// Why a credential was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// Unknown, revoked, expired, or its holder is gone. Which of them is not told.
    #[error("the credential is not valid")]
    Unauthorized,
    /// The key is good, but may not act as the agent that was asked for.
    #[error("the credential may not act as this agent")]
    NotThisAgent,
    /// The key is good, but not for this.
    #[error(transparent)]
    OutOfScope(#[from] OutOfScope),
    /// The credential is good, but the operator keeps its holder out, or the owner of that agent.
    #[error("the account is disabled")]
    Disabled(ParticipantId),
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Somebody who proved who they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Authenticated {
    /// Who.
    pub caller: Caller,
    /// What the plan of their organization allows.
    pub permits: Permits,
    /// What was presented.
    pub presented: Presented,
}

/// What somebody has presented: what stands on it ends with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presented {
    /// A key.
    Key(PresentedKey),
    /// A token.
    Token(PresentedToken),
}

impl Presented {
    /// The key, if it is one.
    pub fn key(self) -> Option<PresentedKey> {
        match self {
            Self::Key(key) => Some(key),
            Self::Token(_) => None,
        }
    }

    /// What it may be used for; a token is not limited.
    pub fn scope(self) -> KeyScope {
        self.key().map_or_else(KeyScope::default, |key| key.scope)
    }

    /// Until when sockets that it opened stay open; `None` for ever, or until the session of a token ends.
    pub fn expires_at(self) -> Option<Timestamp> {
        match self {
            Self::Key(key) => key.expires_at,
            Self::Token(token) => token.expires_at,
        }
    }

    /// The session that the token belongs to, if it is one of a session.
    pub fn session(self) -> Option<PresentedSession> {
        match self {
            Self::Key(_) => None,
            Self::Token(token) => token.session,
        }
    }
}

/// A good token that somebody has presented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PresentedToken {
    /// Whose it is.
    pub user: UserId,
    /// When the password was set that the user has; `None` without one. Another password ends the token.
    pub password_set_at: Option<Timestamp>,
    /// The session that it belongs to, which ends it; `None` for a token of the operator.
    pub session: Option<PresentedSession>,
    /// Until when it is good, if it belongs to no session: what a token of a session opened ends with the session.
    pub expires_at: Option<Timestamp>,
}

/// The session of a token that somebody has presented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PresentedSession {
    /// Which.
    pub id: SessionId,
    /// When the user logged in.
    pub began_at: Timestamp,
}

/// A good key that somebody has presented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PresentedKey {
    /// Which.
    pub id: ApiKeyId,
    /// Until when it is good; `None` for ever.
    pub expires_at: Option<Timestamp>,
    /// What it may be used for.
    pub scope: KeyScope,
}

impl AccountService {
    /// Whom `presented`, the text of an API key, stands for.
    pub async fn authenticate(&self, presented: &str) -> Result<Authenticated, AuthenticateError> {
        let (digest, now) = (self.mint.digest(presented), self.clock.now());
        let stored = async { self.keys.find_key(digest).await };
        match self.cache.key(digest, self.clock.steady(), stored).await? {
            Some(key) if key.digest == digest && key.is_current(now) => {
                if key.is_disabled {
                    return Err(AuthenticateError::Disabled(key.holder.participant()));
                }
                if self.uses.note(&key, now) {
                    self.cache.used(digest, now);
                }
                let presented = PresentedKey { id: key.id, expires_at: key.expires_at, scope: key.scope };
                let presented = Presented::Key(presented);
                Ok(Authenticated { caller: key.holder, permits: key.permits, presented })
            }
            _ => Err(AuthenticateError::Unauthorized),
        }
    }

    /// `caller` as `agent`: an agent only as itself, a user as any agent that the user owns and the credential
    /// reaches. What is pushed to an agent changes its deliveries, so a read-only key is not enough.
    pub async fn act_as(
        &self,
        caller: Caller,
        scope: KeyScope,
        agent: AgentId,
    ) -> Result<AgentCaller, AuthenticateError> {
        scope.permits(Reach::Agent(agent), true)?;
        match caller {
            Caller::Agent(caller) if caller.agent == agent => Ok(caller),
            Caller::Agent(_) => Err(AuthenticateError::NotThisAgent),
            Caller::User(caller) => match self.accounts.find_agent(agent).await? {
                Some(found) if found.owner == caller.user && found.disabled_at.is_some() => {
                    Err(AuthenticateError::Disabled(ParticipantId::Agent(agent)))
                }
                Some(found) if found.owner == caller.user => {
                    Ok(AgentCaller { agent, owner: caller.user, organization: caller.organization })
                }
                _ => Err(AuthenticateError::NotThisAgent),
            },
        }
    }
}
