//! Signals to the clients of agents.

use serde::{Deserialize, Serialize};

use super::port::AgentInChat;
use crate::id::{ChatId, ExecutionId, SignalId};
use crate::words::words;

words! {
    /// The signal.
    ControlMode {
        /// End the turn, and begin none.
        Stop = "stop",
        /// Go on after a stop.
        Play = "play",
        /// End the turn, and go on with the next.
        Interrupt = "interrupt",
    }
}

/// A signal to an agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ControlSignal {
    /// The signal.
    pub mode: ControlMode,
    /// The chat; `None` for all chats of the agent.
    pub chat: Option<ChatId>,
    /// The execution.
    pub execution: ExecutionId,
    /// Unique for each signal: clients ignore a signal whose id they have seen.
    pub correlation_id: SignalId,
    /// Set if something changed, and not only the signal is repeated.
    pub is_change: bool,
}

impl ControlSignal {
    /// Tells an agent whether it is stopped in a chat.
    pub const fn of(found: AgentInChat, is_change: bool, correlation_id: SignalId) -> Self {
        let mode = if found.is_stopped { ControlMode::Stop } else { ControlMode::Play };
        Self { mode, chat: Some(found.chat), execution: found.execution, correlation_id, is_change }
    }
}
