//! Executions: their ids, and their status.

use sha2::{Digest, Sha256};
use uuid::Builder;

use crate::id::{AgentId, ChatId, ExecutionId};
use crate::page::Position;
use crate::time::Timestamp;
use crate::words::words;

impl ExecutionId {
    /// The id of an agent's execution in a chat that it joined at this time. It follows from the membership, so every
    /// membership has one, even one that predates executions.
    pub fn of(chat: ChatId, agent: AgentId, joined_at: Timestamp) -> Self {
        let digest = Sha256::new()
            .chain_update("execution")
            .chain_update(chat.uuid().as_bytes())
            .chain_update(agent.uuid().as_bytes())
            .chain_update(joined_at.micros().to_be_bytes())
            .finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Self::new(Builder::from_custom_bytes(bytes).into_uuid())
    }
}

words! {
    /// The status of an execution.
    ExecutionStatus {
        /// Nothing has been processed, and nothing waits.
        New = "new",
        /// An attempt is open, or the agent reports that it is at work.
        Processing = "processing",
        /// Something waits for the agent.
        Waiting = "waiting",
        /// Nothing waits, and something was processed.
        Completed = "completed",
        /// The last attempt at something failed.
        Failed = "failed",
    }
}

/// The deliveries of an agent in a chat, as far as the status depends on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExecutionFacts {
    /// An attempt is open.
    pub has_open_attempt: bool,
    /// The last attempt at an open delivery failed.
    pub has_failed: bool,
    /// A delivery is open.
    pub has_open: bool,
    /// A delivery was processed.
    pub has_processed: bool,
}

impl ExecutionFacts {
    /// Derives the status; `is_indicated` is set while the "is working" indicator is on.
    pub const fn status(self, is_indicated: bool) -> ExecutionStatus {
        if self.has_open_attempt || is_indicated {
            ExecutionStatus::Processing
        } else if self.has_failed {
            ExecutionStatus::Failed
        } else if self.has_open {
            ExecutionStatus::Waiting
        } else if self.has_processed {
            ExecutionStatus::Completed
        } else {
            ExecutionStatus::New
        }
    }
}

/// An execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Execution {
    /// The agent.
    pub agent: AgentId,
    /// The chat.
    pub chat: ChatId,
    /// The time at which the chat was created, which orders a list.
    pub chat_created_at: Timestamp,
    /// The time of the join.
    pub joined_at: Timestamp,
    /// The time of the stop, if the agent is stopped.
    pub stopped_at: Option<Timestamp>,
    /// The time of the last change of the chat.
    pub updated_at: Timestamp,
    /// What the status depends on.
    pub facts: ExecutionFacts,
}

impl Execution {
    /// The id.
    pub fn id(&self) -> ExecutionId {
        ExecutionId::of(self.chat, self.agent, self.joined_at)
    }

    /// The position in a list.
    pub fn position(&self) -> Position {
        Position::at(self.chat_created_at.micros(), self.chat)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_execution_has_its_own_id() {
        let of = |chat, agent, at| {
            let (chat, agent) = (ChatId::new(Uuid::from_u128(chat)), AgentId::new(Uuid::from_u128(agent)));
            ExecutionId::of(chat, agent, Timestamp::from_micros(at))
        };
        let one = of(1, 2, 3);
        assert_eq!(one, of(1, 2, 3), "it stays the same");
        assert_eq!((one.uuid().get_version_num(), one.uuid().get_variant()), (8, uuid::Variant::RFC4122));
        for other in [of(2, 1, 3), of(1, 9, 3), of(9, 2, 3), of(1, 2, 4)] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn work_that_is_done_now_hides_failed_work_and_that_hides_the_rest() {
        let facts = |has_open_attempt, has_failed, has_open, has_processed| ExecutionFacts {
            has_open_attempt,
            has_failed,
            has_open,
            has_processed,
        };
        let table = [
            (facts(false, false, false, false), "new"),
            (facts(false, false, false, true), "completed"),
            (facts(false, false, true, true), "waiting"),
            (facts(false, true, true, true), "failed"),
            (facts(true, true, true, true), "processing"),
        ];
        for (facts, status) in table {
            assert_eq!(facts.status(false).as_str(), status, "{facts:?}");
            assert_eq!(facts.status(true), ExecutionStatus::Processing);
        }
    }
}
