//! The authenticated caller: the first argument of every use case.

use crate::delivery::Claims;
use crate::id::{AgentId, OrganizationId, ParticipantId, UserId};

/// An authenticated user.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UserCaller {
    /// The user.
    pub user: UserId,
    /// The organization that the user belongs to.
    pub organization: OrganizationId,
}

/// An authenticated agent, which implies its owner.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AgentCaller {
    /// The agent.
    pub agent: AgentId,
    /// The user who registered it.
    pub owner: UserId,
    /// The owner's organization.
    pub organization: OrganizationId,
    /// What its attempts meant for its other workers when it was authenticated. Only renewals by activity rely on it; stores
    /// read the agent's record to decide on claims.
    pub claims: Claims,
}

/// Either kind of caller, for use cases that both interfaces share.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Caller {
    /// A human.
    User(UserCaller),
    /// An agent.
    Agent(AgentCaller),
}

impl Caller {
    /// The caller as a participant of a chat.
    pub const fn participant(self) -> ParticipantId {
        match self {
            Self::User(caller) => ParticipantId::User(caller.user),
            Self::Agent(caller) => ParticipantId::Agent(caller.agent),
        }
    }

    /// The user who is accountable for this caller: itself, or the agent's owner.
    pub const fn accountable_user(self) -> UserId {
        match self {
            Self::User(caller) => caller.user,
            Self::Agent(caller) => caller.owner,
        }
    }

    /// The organization that the accountable user belongs to: the caller's tenant.
    pub const fn organization(self) -> OrganizationId {
        match self {
            Self::User(caller) => caller.organization,
            Self::Agent(caller) => caller.organization,
        }
    }
}

impl From<UserCaller> for Caller {
    fn from(caller: UserCaller) -> Self {
        Self::User(caller)
    }
}

impl From<AgentCaller> for Caller {
    fn from(caller: AgentCaller) -> Self {
        Self::Agent(caller)
    }
}
