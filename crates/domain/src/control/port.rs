//! The store of control.

use async_trait::async_trait;

use super::execution::Execution;
use crate::account::Agent;
use crate::audit::Actor;
use crate::caller::UserCaller;
use crate::chat::{Chat, ChatDetails, StopRefused};
use crate::id::{AgentId, ChatId, ExecutionId, OrganizationId, UserId};
use crate::organization::{Pause, PauseReason};
use crate::page::{Page, PageRequest};
use crate::store::{OnCommit, StoreError};
use crate::time::Timestamp;

/// The agents of a chat to be stopped, or to play again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetStopped {
    /// The chat.
    pub chat: ChatId,
    /// The caller.
    pub by: UserCaller,
    /// Set to stop them.
    pub stopped: bool,
    /// The current time.
    pub now: Timestamp,
}

/// A chat whose agents were stopped, or play again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoppedChat {
    /// The chat.
    pub chat: Chat,
    /// The parts that humans see.
    pub details: ChatDetails,
    /// The humans in the chat.
    pub users: Vec<UserId>,
    /// All agents in the chat, by id. During a pause of one or of the organization, they are stopped also after a play.
    pub agents: Vec<AgentInChat>,
    /// Set if an agent was in the other state before.
    pub has_changed: bool,
}

/// An agent in a chat.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AgentInChat {
    /// The agent.
    pub agent: AgentId,
    /// The chat.
    pub chat: ChatId,
    /// Its execution.
    pub execution: ExecutionId,
    /// Set if it is stopped, or it or the organization is paused.
    pub is_stopped: bool,
}

/// An agent to be interrupted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InterruptAgent {
    /// The caller.
    pub by: UserCaller,
    /// The agent.
    pub agent: AgentId,
    /// One of its executions.
    pub execution: ExecutionId,
    /// The current time.
    pub now: Timestamp,
}

/// An agent to be paused or resumed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetAgentPaused {
    /// The agent.
    pub agent: AgentId,
    /// The caller.
    pub by: Actor,
    /// The reason for the pause; `None` to resume it.
    pub reason: Option<PauseReason>,
    /// The current time.
    pub now: Timestamp,
}

impl SetAgentPaused {
    /// Pauses or resumes the agent; an ongoing pause keeps its start time. Returns whether anything is to be stored: not
    /// if an agent that is not paused is resumed.
    pub fn apply(&self, agent: &mut Agent) -> bool {
        if agent.pause.is_none() && self.reason.is_none() {
            return false;
        }
        let since = agent.pause.as_ref().map_or(self.now, |pause| pause.since);
        let reason = self.reason.as_ref();
        agent.pause = reason.map(|reason| Pause { since, reason: reason.as_str().to_owned() });
        agent.updated_at = self.now;
        true
    }
}

/// The agent does not exist, or the caller may not pause it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetAgentPausedRefused;

/// Stops, and executions.
#[async_trait]
pub trait ControlRepository: Send + Sync {
    /// Stops all agents in the chat, or lets them play, as
    /// [`decide_stop`](crate::chat::Standing::decide_stop) decides. If an agent changes its state, the chat's time of
    /// change is new, and the change log has an entry.
    async fn set_stopped(
        &self,
        command: SetStopped,
        on_commit: OnCommit<StoppedChat>,
    ) -> Result<Result<StoppedChat, StopRefused>, StoreError>;

    /// The executions of an agent of `owner`, the newest chat first; the position is [`Execution::position`]. `None`
    /// if the user has no such agent. Pages are by cursor only.
    async fn executions(
        &self,
        owner: UserId,
        agent: AgentId,
        page: PageRequest,
    ) -> Result<Option<Page<Execution>>, StoreError>;

    /// Pauses or resumes an agent, as [`may_pause`](super::may_pause) and [`SetAgentPaused::apply`] decide, in all of its
    /// chats. An ongoing pause keeps its start time. The change log has an entry, even if the agent was already paused;
    /// without a pause, resuming changes nothing.
    async fn set_agent_paused(
        &self,
        command: SetAgentPaused,
        on_commit: OnCommit<Agent>,
    ) -> Result<Result<Agent, SetAgentPausedRefused>, StoreError>;

    /// The given memberships, limited to chats of `organization` if it is set, with their executions, and whether the
    /// agents are stopped there for any reason.
    async fn memberships_among(
        &self,
        organization: Option<OrganizationId>,
        agents: Vec<(AgentId, ChatId)>,
    ) -> Result<Vec<AgentInChat>, StoreError>;

    /// Finds an execution of an agent of the caller, and records the interruption; `None` if there is none.
    async fn interrupt(
        &self,
        command: InterruptAgent,
        on_commit: OnCommit<Execution>,
    ) -> Result<Option<Execution>, StoreError>;
}
