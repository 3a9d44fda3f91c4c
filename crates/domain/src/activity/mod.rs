//! The activity indicator of an agent in a chat: a lease of ten seconds that the agent renews. It
//! is in memory only; all indicators are off after a restart.

mod board;
mod service;

pub use board::{ActivityBoard, AgentActivity, WorkingAgent};
pub use service::{ActivityService, ReportActivityError};
