//! Deleting an agent.
//!
//! Its key is invalid at once, its contacts and pending requests end, and it leaves all its chats;
//! a chat that it alone owned gets another owner. Its messages stay, with the name they were sent
//! under. Its deliveries and attempts are erased in batches afterwards, so that deleting a busy
//! agent does not block others.

use super::agent::Agent;
use super::port::{DeleteAgent, DeleteAgentRefused, DeletedAgent};
use super::service::AccountService;
use crate::audit::Actor;
use crate::board::{Task, publish_dropped};
use crate::caller::UserCaller;
use crate::chat::{Chat, Participant};
use crate::contact::Parted;
use crate::event::DomainEvent;
use crate::id::{AgentId, UserId};
use crate::legal_hold::UnderHold;
use crate::ports::EventPublisher;
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The number of deliveries that are erased at a time.
const ERASED_AT_ONCE: u32 = 500;

/// A deleted agent in its last state, with the number of chats in which it had worked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentDeletion {
    /// The agent in its last state.
    pub agent: Agent,
    /// The number of chats in which it has sent or received messages; the records of that are being
    /// erased.
    pub executions: u64,
}

/// The reason why an agent was not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteAgentError {
    /// The caller does not own the agent.
    #[error("there is no such agent of the caller")]
    AgentNotFound,
    /// It is or was in a chat that is under a legal hold.
    #[error(transparent)]
    UnderHold(#[from] UnderHold),
    /// It has sent or received messages, and `force` was not set.
    #[error("the agent has worked in {executions} chat(s)")]
    HasWorked {
        /// The number of chats.
        executions: u64,
    },
    /// The store is unavailable or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Publishes the visible effects of a deleted account: the chats that it left, the tasks that it no longer works on, its
/// contacts, and its requests.
pub(super) fn publish_departure(
    events: &dyn EventPublisher,
    left: &[(Chat, Participant)],
    dropped: &[Task],
    parted: &Parted,
    now: Timestamp,
) {
    for (chat, participant) in left {
        events
            .publish(DomainEvent::ParticipantRemoved { chat_id: chat.id, participant: participant.clone() });
        events.publish(DomainEvent::RoomRemoved {
            from: participant.id,
            chat: chat.clone(),
            removed_at: now,
        });
    }
    publish_dropped(events, dropped);
    for request in parted.requests.clone() {
        events.publish(DomainEvent::ContactRequestUpdated { request });
    }
    for (owner, id) in parted.contacts.iter().copied() {
        events.publish(DomainEvent::ContactRemoved { owner, id });
    }
}

/// Publishes the effects of a deletion at `now`.
pub(crate) fn publish_deleted_agent(events: &dyn EventPublisher, deleted: &DeletedAgent, now: Timestamp) {
    publish_departure(events, &deleted.left, &deleted.dropped, &deleted.parted, now);
    events.publish(DomainEvent::AgentDeleted { agent: deleted.agent.clone() });
}

impl AccountService {
    /// Deletes an agent of the caller; one that has worked only with `force`.
    pub async fn delete_agent(
        &self,
        caller: UserCaller,
        agent: AgentId,
        force: bool,
    ) -> Result<AgentDeletion, DeleteAgentError> {
        self.delete_agent_by(caller.user.into(), caller.user, agent, force).await
    }

    /// Deletes an agent of `owner`, on behalf of any actor.
    pub async fn delete_agent_by(
        &self,
        by: Actor,
        owner: UserId,
        agent: AgentId,
        force: bool,
    ) -> Result<AgentDeletion, DeleteAgentError> {
        let now = self.clock.now();
        let command = DeleteAgent { agent, owner, by, force, now };
        let events = self.events.clone();
        let on_commit =
            OnCommit::new(move |deleted: &DeletedAgent| publish_deleted_agent(&*events, deleted, now));
        match self.accounts.delete_agent(command, on_commit).await? {
            Ok(deleted) => Ok(AgentDeletion { agent: deleted.agent, executions: deleted.executions }),
            Err(DeleteAgentRefused::NotFound) => Err(DeleteAgentError::AgentNotFound),
            Err(DeleteAgentRefused::UnderHold) => Err(UnderHold.into()),
            Err(DeleteAgentRefused::HasWorked { executions }) => {
                Err(DeleteAgentError::HasWorked { executions })
            }
        }
    }

    /// Erases some records of deleted agents; must be called about once a second. Returns whether
    /// more are left.
    pub async fn erase_some(&self) -> Result<bool, StoreError> {
        self.accounts.erase_work(ERASED_AT_ONCE).await
    }
}
