//! The store of control.

use async_trait::async_trait;

use super::execution::Execution;
use crate::caller::UserCaller;
use crate::chat::{Chat, ChatDetails, StopRefused};
use crate::id::{AgentId, ChatId, ExecutionId, OrganizationId, UserId};
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
    /// All agents in the chat, by id. During a pause of the organization, they are stopped also after a play.
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
    /// Set if it is stopped, or the organization is paused.
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

    /// Of these agents in chats, those that are in chats of the organization, with their executions, and whether they are
    /// stopped there for any reason.
    async fn memberships_among(
        &self,
        organization: OrganizationId,
        agents: Vec<(AgentId, ChatId)>,
    ) -> Result<Vec<AgentInChat>, StoreError>;

    /// Finds an execution of an agent of the caller, and records the interruption; `None` if there is none.
    async fn interrupt(
        &self,
        command: InterruptAgent,
        on_commit: OnCommit<Execution>,
    ) -> Result<Option<Execution>, StoreError>;
}
