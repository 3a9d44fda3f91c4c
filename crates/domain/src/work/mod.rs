//! Work: the deliveries of agents, as seen by those who are responsible for the agents.
//!
//! A *work item* is a delivery that its agent has not processed, in a chat that exists and of which the agent
//! is a participant. The owner of an agent is responsible for its work, and so are the admins of the owner's
//! organization. An item shows what is known about it: who waits, since when, and what became of each attempt.
//! A *flag* ([`flag`]) says that it needs attention; it follows from the record and the time and is stored
//! nowhere. Those who are responsible can have an item offered again, take it out of the queue, or send it
//! again as a new message, which *replaces* it ([`change`]). The sender of a message may also take it out of the queue.
//!
//! Invariant: only callers who may read the chat see the beginning of an item's text. They see the title too,
//! and so do admins of the chat's organization. Admins are responsible for agents in chats that they cannot
//! read: they see neither errors, nor reasons, nor the sender's name ([`WorkItem::is_readable`]).

pub mod change;
pub mod flag;
mod port;
mod resend;
mod retry;
mod service;
mod summary;
mod totals;

pub use change::{
    ChangeAllError, ChangeWork, ChangeWorkError, ChangeWorkRefused, ChangedItem, ChangedWork, WorkChange,
    WorkStep,
};
pub use flag::{FlagBounds, WorkFlag, WorkThresholds};
pub use port::{
    FindWork, FlagCondition, WorkAgent, WorkItem, WorkKey, WorkPart, WorkRepository, WorkScope, WorkSearch,
};
pub use resend::{Replacement, Resend};
pub use retry::RetriedWork;
pub use service::{FindWorkError, ListWorkError, WorkFilter, WorkPorts, WorkService};
pub use summary::{
    AgentSummary, CountedWork, ErrorSummary, MAX_ERROR_FILTER_CHARS, SUMMARIZED_ERROR_CHARS,
    SUMMARIZED_PER_PART, StateSums, WorkCounts, WorkSummary,
};
pub use totals::{AgentWork, StateTotals, WorkTotals};

/// The number of characters of a text that are shown with an item.
pub const SHOWN_TEXT_CHARS: u32 = 200;

/// The number of open deliveries of one agent in one chat that a list examines, the oldest ones: it
/// neither shows nor searches those behind them until some of these are done.
pub const EXAMINED_PER_QUEUE: u32 = 1000;
