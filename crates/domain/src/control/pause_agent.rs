//! Pausing an agent: it works in none of its chats.

use super::port::{SetAgentPaused, SetAgentPausedRefused};
use super::service::ControlService;
use crate::account::Agent;
use crate::audit::Actor;
use crate::event::DomainEvent;
use crate::id::{AgentId, OrganizationId, UserId};
use crate::organization::{OrganizationRole, PauseReason};
use crate::store::{OnCommit, StoreError};

/// The reason why an agent was neither paused nor resumed.
#[derive(Debug, thiserror::Error)]
pub enum PauseAgentError {
    /// The agent does not exist, or the caller may not pause it.
    #[error("there is no such agent of the caller")]
    AgentNotFound,
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A user's organization, and the role in it.
pub type OrganizationMembership = (OrganizationId, OrganizationRole);

/// Returns whether `by` may pause and resume an agent of `owner`: the operator, its owner, and the admins of its owner's
/// organization may. `membership` is that of `by`, and `organization` that of the owner.
pub fn may_pause(
    by: Actor,
    owner: UserId,
    membership: Option<OrganizationMembership>,
    organization: Option<OrganizationId>,
) -> bool {
    by == Actor::Operator
        || by == Actor::from(owner)
        || membership.is_some_and(|(own, role)| role == OrganizationRole::Admin && organization == Some(own))
}

impl ControlService {
    /// Stops an agent in all of its chats, and in those that it enters, until it is resumed. If it is already paused, only
    /// the reason changes. Stops of chats are not affected.
    pub async fn pause_agent(
        &self,
        by: Actor,
        agent: AgentId,
        reason: PauseReason,
    ) -> Result<Agent, PauseAgentError> {
        self.set_agent_paused(by, agent, Some(reason)).await
    }

    /// Ends a pause of an agent, if there is one.
    pub async fn resume_agent(&self, by: Actor, agent: AgentId) -> Result<Agent, PauseAgentError> {
        self.set_agent_paused(by, agent, None).await
    }

    async fn set_agent_paused(
        &self,
        by: Actor,
        agent: AgentId,
        reason: Option<PauseReason>,
    ) -> Result<Agent, PauseAgentError> {
        let events = self.events.clone();
        let on_commit = OnCommit::new(move |agent: &Agent| {
            events.publish(DomainEvent::AgentUpdated { agent: agent.clone() });
        });
        let command = SetAgentPaused { agent, by, reason, now: self.clock.now() };
        match self.control.set_agent_paused(command, on_commit).await? {
            Ok(agent) => Ok(agent),
            Err(SetAgentPausedRefused) => Err(PauseAgentError::AgentNotFound),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn owners_admins_and_the_operator_pause_agents() {
        use OrganizationRole::{Admin, Member};
        let user = |number| UserId::new(Uuid::from_u128(number));
        let house = |number| OrganizationId::new(Uuid::from_u128(number));
        let may = |by, membership| may_pause(by, user(1), membership, Some(house(1)));
        assert!(may(Actor::Operator, None));
        assert!(may(user(1).into(), Some((house(1), Member))), "the owner");
        assert!(may(user(2).into(), Some((house(1), Admin))), "an admin");
        assert!(!may(user(2).into(), Some((house(1), Member))), "a colleague");
        assert!(!may(user(2).into(), Some((house(2), Admin))), "an admin of another organization");
        assert!(!may(user(2).into(), None), "gone since");
        assert!(!may_pause(user(2).into(), user(1), Some((house(1), Admin)), None));
        assert!(!may(Actor::Anonymous, None));
    }
}
