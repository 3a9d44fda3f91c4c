//! Executions as rows. Compiled into each store.

use diesel::prelude::*;
use domain::control::{Execution, ExecutionFacts};
use domain::id::{AgentId, ChatId};

use crate::row::{At, Id};

/// Whether the agent of a row of `deliveries` is stopped in the chat, and whether it or the chat's organization is paused.
pub(crate) const STOPPED_AND_PAUSED: &str = "coalesce((SELECT 1 = 1 FROM participants \
         WHERE participants.chat_id = deliveries.chat_id AND participants.participant_id = deliveries.agent_id \
         AND participants.left_at IS NULL AND participants.stopped_at IS NOT NULL LIMIT 1), 1 = 0), \
     coalesce((SELECT 1 = 1 FROM agents AS own WHERE own.id = deliveries.agent_id AND own.paused_at IS NOT NULL LIMIT 1), \
     (SELECT 1 = 1 FROM chats AS own JOIN organizations ON organizations.id = own.organization_id \
         WHERE own.id = deliveries.chat_id AND organizations.paused_at IS NOT NULL LIMIT 1), 1 = 0)";

/// A membership of an agent with its chat, and what the status depends on.
#[derive(Queryable)]
pub(crate) struct ExecutionRow {
    chat_id: Id,
    chat_created_at: At,
    joined_at: At,
    stopped_at: Option<At>,
    updated_at: At,
    has_open_attempt: bool,
    has_failed: bool,
    has_open: bool,
    has_processed: bool,
}

impl ExecutionRow {
    pub(crate) fn into_execution(self, agent: AgentId) -> Execution {
        let Self { has_open_attempt, has_failed, has_open, has_processed, .. } = self;
        Execution {
            agent,
            chat: ChatId::new(self.chat_id.0),
            chat_created_at: self.chat_created_at.0,
            joined_at: self.joined_at.0,
            stopped_at: self.stopped_at.map(|at| at.0),
            updated_at: self.updated_at.0,
            facts: ExecutionFacts { has_open_attempt, has_failed, has_open, has_processed },
        }
    }
}
