//! The "is working" indicator of an agent in a room: a lease of ten seconds that the agent
//! renews. It lives in memory only; who restarts the server finds every indicator off.

mod board;
mod service;

pub use board::{ActivityBoard, AgentActivity};
pub use service::{ActivityService, ReportActivityError};
