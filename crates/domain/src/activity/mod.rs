//! The activity indicator of an agent in a chat: a lease of ten seconds that the agent renews. It
//! is in memory only; all indicators are off after a restart.
//!
//! The other nodes that show the indicator receive the reports too. Each node ends the indicator itself: when it is
//! not renewed, or when the agent has left the chat, was disabled or deleted, or has no socket on any node (for ten
//! seconds if the connection broke).

mod board;
mod kind;
mod service;

pub use board::{ActivityBoard, AgentActivity, WorkingAgent};
pub use kind::{Activity, ActivityKind, ReportedWork, ToolName};
pub use service::{ActivityService, ReadActivityError, ReportActivityError, ShownActivity};

/// The maximum number of working agents that are shown of a chat.
pub const MAX_SHOWN: usize = 32;
