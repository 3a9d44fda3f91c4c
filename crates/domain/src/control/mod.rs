//! Control: the owner of a chat stops its agents and lets them play again, and the owner of an agent interrupts it.
//!
//! Terms: an *execution* is an agent in one chat, from the time it joins until it leaves; an agent that returns
//! begins another. Stopping a chat stops the executions in it until the chat plays again; later ones are not stopped.
//!
//! A stopped agent is offered nothing and sends nothing in the chat: what is written to it is stored, and waits. The
//! stop is stored with the membership, which every request of the agent in the chat reads anyway. The agent's clients
//! are notified of each signal once; a client that missed it learns of the state from the answers to its requests.
//!
//! A paused agent is stopped in all of its chats, and in those that it enters meanwhile. The pause is stored with the
//! agent, and with each membership, since every request reads that anyway. It is independent of stops.
//!
//! A paused organization ([`crate::organization`]) has the same effect as a stop of all of its chats, and stops remain
//! when it is resumed. Every node finds out which of the agents that are connected to it, or report to it, are
//! affected.
//!
//! Invariants: a stop ends with the membership; a new membership is never stopped. A membership contains the pause of
//! its agent.

mod execution;
mod interrupt;
mod pause;
mod pause_agent;
mod port;
mod service;
mod signal;
mod stop;

pub use execution::{Execution, ExecutionFacts, ExecutionStatus};
pub use interrupt::InterruptError;
pub use pause::Paused;
pub use pause_agent::{OrganizationMembership, PauseAgentError, may_pause};
pub use port::{
    AgentInChat, ControlRepository, InterruptAgent, SetAgentPaused, SetAgentPausedRefused, SetStopped,
    StoppedChat,
};
pub use service::{ControlService, ListExecutionsError};
pub use signal::{ControlMode, ControlSignal};
pub use stop::StopError;
