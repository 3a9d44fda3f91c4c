//! The activity indicator of an agent in a chat: a lease of ten seconds that the agent renews. It
//! is in memory only; all indicators are off after a restart.
//!
//! Reports reach the other nodes that show the indicator, and each of them ends it by itself: when it is not
//! renewed, when the agent has left the chat, or when it is gone, that is, it has no socket on any node (for ten
//! seconds if the connection broke), or was disabled or deleted.

mod board;
mod service;

pub use board::{ActivityBoard, AgentActivity, WorkingAgent};
pub use service::{ActivityService, ReportActivityError};
