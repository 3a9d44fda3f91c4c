//! Authenticating a key.

use super::door::{Door, KEY_EXPIRED, KEY_REVOKED};
use super::key::{KeyDigest, StoredKey};
use super::port::AccountStatus;
use super::scope::{KeyScope, OutOfScope, Reach};
use super::service::AccountService;
use crate::caller::{AgentCaller, Caller, UserCaller};
use crate::id::{AgentId, ApiKeyId, ParticipantId, SessionId, UserId};
use crate::plan::Permits;
use crate::store::StoreError;
use crate::time::Timestamp;

/// The reason why a credential was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// Unknown, revoked, expired, or its holder was deleted; the answer does not distinguish them.
    #[error("the credential is not valid")]
    Unauthorized,
    /// The credential is valid, but its holder is disabled, or the owner of that agent.
    #[error("the account is disabled")]
    Disabled(ParticipantId),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why an authenticated caller may not act, as itself or as an agent.
#[derive(Debug, thiserror::Error)]
pub enum ActAsError {
    /// The plan of a user's organization does not include the API for humans.
    #[error("the plan does not include the API for humans")]
    PlanExcludesHumans,
    /// The requested agent is not the caller, and not an agent of the caller.
    #[error("the credential may not act as this agent")]
    NotThisAgent(AgentId),
    /// The scope of the key excludes the requested agent.
    #[error(transparent)]
    OutOfScope(#[from] OutOfScope),
    /// The requested agent is disabled.
    #[error("the agent is disabled")]
    Disabled(AgentId),
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An authenticated caller with its credential.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Authenticated {
    /// The caller.
    pub caller: Caller,
    /// The permissions of the organization's plan.
    pub permits: Permits,
    /// The credential.
    pub presented: Presented,
}

impl Authenticated {
    /// The caller as itself: an agent always, a user only if the plan includes the API for humans.
    pub fn as_itself(self) -> Result<Caller, ActAsError> {
        match self.caller {
            Caller::User(_) if !self.permits.human_interface => Err(ActAsError::PlanExcludesHumans),
            caller => Ok(caller),
        }
    }
}

/// A presented credential: what it opened ends with it.
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

    /// Its scope; a token is not limited.
    pub fn scope(self) -> KeyScope {
        self.key().map_or_else(KeyScope::default, |key| key.scope)
    }

    /// The time at which sockets that it opened expire; `None` for never, or until the session of a
    /// token ends.
    pub fn expires_at(self) -> Option<Timestamp> {
        match self {
            Self::Key(key) => key.expires_at,
            Self::Token(token) => token.expires_at,
        }
    }

    /// The session of a token, if it has one.
    pub fn session(self) -> Option<PresentedSession> {
        match self {
            Self::Key(_) => None,
            Self::Token(token) => token.session,
        }
    }
}

/// A valid token that a caller has presented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PresentedToken {
    /// Whose it is.
    pub user: UserId,
    /// The time at which the user's password was set; `None` without one. Another password ends the
    /// token.
    pub password_set_at: Option<Timestamp>,
    /// The session, which ends the token; `None` for a token of the operator.
    pub session: Option<PresentedSession>,
    /// The expiry of a token without a session. Sockets that a token with a session opened end with the
    /// session.
    pub expires_at: Option<Timestamp>,
}

/// The session of a presented token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PresentedSession {
    /// The session.
    pub id: SessionId,
    /// The time of the log-in.
    pub began_at: Timestamp,
}

/// A valid key that a caller has presented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PresentedKey {
    /// The key.
    pub id: ApiKeyId,
    /// The expiry; `None` for never.
    pub expires_at: Option<Timestamp>,
    /// The scope.
    pub scope: KeyScope,
}

/// A user or an agent in whose name the server does something later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// As a caller.
    Active(Caller),
    /// It is disabled, or the owner of the agent is, or the plan of a user does not include the API for humans.
    Suspended,
    /// It was deleted.
    Gone,
}

impl AccountService {
    /// A user or an agent as a caller, without a credential.
    pub async fn standing(&self, who: ParticipantId) -> Result<Standing, StoreError> {
        let (user, agent) = match who {
            ParticipantId::User(user) => (user, None),
            ParticipantId::Agent(agent) => {
                let read = async { self.accounts.find_agent(agent).await };
                match self.cache.agent(agent, self.clock.steady(), read).await? {
                    Some(agent) => (agent.owner, Some(agent)),
                    None => return Ok(Standing::Gone),
                }
            }
        };
        let read = async { self.accounts.find_account_status(user).await };
        let admits = |status: &AccountStatus| !status.is_disabled;
        let Some(status) = self.cache.status(user, self.clock.steady(), admits, read).await? else {
            return Ok(Standing::Gone);
        };
        let AccountStatus { organization, permits, is_disabled, .. } = status;
        Ok(match agent {
            _ if is_disabled => Standing::Suspended,
            Some(agent) if agent.disabled_at.is_some() => Standing::Suspended,
            Some(agent) => Standing::Active(
                AgentCaller { agent: agent.id, owner: user, organization, claims: agent.claims }.into(),
            ),
            None if !permits.human_interface => Standing::Suspended,
            None => Standing::Active(UserCaller { user, organization }.into()),
        })
    }

    /// Authenticates `presented`, the text of an API key.
    pub async fn authenticate(&self, presented: &str) -> Result<Authenticated, AuthenticateError> {
        self.authenticate_at(presented, None).await
    }

    /// Authenticates a key that is presented at a door, and notes there if it was revoked or has expired. The caller notes
    /// the outcome of the call.
    pub async fn authenticate_at(
        &self,
        presented: &str,
        door: Option<Door>,
    ) -> Result<Authenticated, AuthenticateError> {
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
            expired => {
                if let Some(door) = door {
                    self.note_ended_key(digest, expired, door).await;
                }
                Err(AuthenticateError::Unauthorized)
            }
        }
    }

    /// Notes at a door that an agent has presented a key that is not valid any more.
    async fn note_ended_key(&self, digest: KeyDigest, expired: Option<StoredKey>, door: Door) {
        match expired.filter(|key| key.digest == digest).map(|key| key.holder) {
            Some(Caller::Agent(caller)) => self.note_failure(caller.agent, door, KEY_EXPIRED, None),
            Some(Caller::User(_)) => {}
            // The caller is refused in any case.
            None => {
                if let Ok(Some(agent)) = self.keys.find_agent_of_revoked_key(digest).await {
                    self.note_failure(agent, door, KEY_REVOKED, None);
                }
            }
        }
    }

    /// `caller` as `agent`: an agent only as itself, a user as any own agent in the scope of the
    /// credential. A push to an agent changes its deliveries, so a read-only key is not enough.
    pub async fn act_as(
        &self,
        caller: Caller,
        scope: KeyScope,
        agent: AgentId,
    ) -> Result<AgentCaller, ActAsError> {
        scope.permits(Reach::Agent(agent), true)?;
        match caller {
            Caller::Agent(caller) if caller.agent == agent => Ok(caller),
            Caller::Agent(_) => Err(ActAsError::NotThisAgent(agent)),
            Caller::User(caller) => match self.accounts.find_agent(agent).await? {
                Some(found) if found.owner == caller.user && found.disabled_at.is_some() => {
                    Err(ActAsError::Disabled(agent))
                }
                Some(found) if found.owner == caller.user => {
                    let UserCaller { user: owner, organization } = caller;
                    Ok(AgentCaller { agent, owner, organization, claims: found.claims })
                }
                _ => Err(ActAsError::NotThisAgent(agent)),
            },
        }
    }
}
