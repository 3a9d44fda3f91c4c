//! Executions: agents in rooms, as the owner of the agent sees them.

use domain::control::{Execution, ExecutionStatus};
use domain::id::{AgentId, ChatId, ExecutionId};
use domain::time::Timestamp;
use serde::Serialize;

use super::Shown;

/// An agent in a room, from its join to its end.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ExecutionView {
    /// The same as `execution_id` on the socket.
    #[schema(value_type = super::Id)]
    id: Shown<ExecutionId>,
    #[schema(value_type = super::Id)]
    agent_id: Shown<AgentId>,
    #[schema(value_type = super::Id)]
    chat_room_id: Shown<ChatId>,
    /// `new`, `processing`, `waiting`, `completed`, or `failed`.
    status: &'static str,
    /// Set while the agent is stopped in the room.
    stopped: bool,
    /// When the agent joined.
    #[schema(value_type = super::Instant)]
    inserted_at: Shown<Timestamp>,
    /// When the room last changed.
    #[schema(value_type = super::Instant)]
    updated_at: Shown<Timestamp>,
}

impl ExecutionView {
    /// Shows `execution`.
    pub fn new(execution: &Execution, status: ExecutionStatus) -> Self {
        Self {
            id: Shown(execution.id()),
            agent_id: Shown(execution.agent),
            chat_room_id: Shown(execution.chat),
            status: status.as_str(),
            stopped: execution.stopped_at.is_some(),
            inserted_at: Shown(execution.joined_at),
            updated_at: Shown(execution.updated_at),
        }
    }
}
