//! Signals to the clients of agents.

use serde::{Deserialize, Serialize};

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
    /// Another one for each signal: clients ignore a signal whose id they have seen.
    pub correlation_id: SignalId,
}
