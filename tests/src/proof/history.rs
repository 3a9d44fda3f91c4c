//! The calls of a run, with their outcomes and the times of their beginning and end.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The request of a call. Rooms and agents are named by their index in the stage.
#[derive(Clone, Debug)]
pub enum Operation {
    /// A unique text and the agents that it mentions, with an idempotency key if it may be sent again.
    Send { room: usize, text: String, agents: Vec<usize>, key: Option<String> },
    /// A new, unique text for a message.
    Edit { id: String, text: String },
    /// Removes a message.
    Delete { id: String },
    /// A page of a room's history: the newest, or the one before a message.
    Read { room: usize, before: Option<String> },
    /// The oldest message that waits for an agent.
    Next { agent: usize },
    /// Begins an attempt.
    Begin { agent: usize, id: String },
    /// Ends the attempt as done.
    Finish { agent: usize, id: String },
    /// Ends the attempt as failed.
    Fail { agent: usize, id: String },
}

impl Operation {
    /// The word under which operations of this kind are counted.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Send { key: None, .. } => "send",
            Self::Send { key: Some(_), .. } => "send under a key",
            Self::Edit { .. } => "edit",
            Self::Delete { .. } => "delete",
            Self::Read { .. } => "read",
            Self::Next { .. } => "next",
            Self::Begin { .. } => "processing",
            Self::Finish { .. } => "processed",
            Self::Fail { .. } => "failed",
        }
    }
}

/// A message as a reader saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// Its text, without the markers that the server puts in front.
    pub text: String,
}

/// The outcome of a call, as its caller saw it.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The message has this id.
    Sent(String),
    /// Edited or deleted.
    Done,
    /// Neighbours of a room's history, oldest first.
    Page {
        /// The messages.
        rows: Vec<Row>,
        /// Set if the newest page was requested.
        newest: bool,
        /// Set if the response says that there are no earlier messages.
        oldest: bool,
    },
    /// The message that `/next` offered.
    Offered(Option<Row>),
    /// The number of the attempt that was begun or ended.
    Attempt(u64),
    /// The server refused, with this status: it did not happen.
    Refused(u16),
    /// No connection could be opened: it did not happen.
    Unsent,
    /// No answer, or one that says nothing (5xx): it may have happened, or happen yet.
    Unclear,
}

/// One call, in microseconds since the history began.
#[derive(Clone, Debug)]
pub struct Call {
    /// The caller.
    pub actor: String,
    /// Before anything was sent.
    pub begin: u64,
    /// The time of the response, or of the timeout.
    pub end: u64,
    /// The request.
    pub operation: Operation,
    /// The outcome.
    pub outcome: Outcome,
}

impl Call {
    /// Returns whether the call may have taken effect.
    pub fn is_possible(&self) -> bool {
        !matches!(self.outcome, Outcome::Refused(_) | Outcome::Unsent)
    }

    /// Returns whether the outcome is unclear.
    pub fn is_unclear(&self) -> bool {
        matches!(self.outcome, Outcome::Unclear)
    }

    /// By when it has happened, if it has; without a clear answer it may happen at any time later.
    pub fn latest(&self) -> u64 {
        if self.is_unclear() { u64::MAX } else { self.end }
    }
}

/// The state of a message at an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Set once the message is processed.
    pub processed: bool,
    /// The numbers of the attempts, in the order in which they are shown.
    pub attempts: Vec<u64>,
}

/// A message when all was over.
#[derive(Clone, Debug)]
pub struct LastRow {
    /// The messages that all readers see.
    pub row: Row,
    /// The work of those agents that have begun.
    pub work: BTreeMap<usize, Work>,
}

/// Everything that was recorded.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The calls.
    pub calls: Vec<Call>,
    /// The room in which each agent works.
    pub agents: Vec<usize>,
    /// Every room when all was over, oldest message first.
    pub rooms: Vec<Vec<LastRow>>,
    /// The open messages of each agent at the end, oldest first.
    pub waiting: Vec<Vec<String>>,
}

impl History {
    /// The number of calls of each kind, and how many of them have an unclear outcome.
    pub fn counts(&self) -> BTreeMap<&'static str, (usize, usize)> {
        let mut counts = BTreeMap::<_, (usize, usize)>::new();
        for call in &self.calls {
            let count = counts.entry(call.operation.kind()).or_default();
            count.0 += 1;
            count.1 += usize::from(call.is_unclear());
        }
        counts
    }

    /// All of it as text, a call on each line.
    pub fn dump(&self) -> String {
        let mut text = String::new();
        for Call { actor, begin, end, operation, outcome } in &self.calls {
            let _ = writeln!(text, "{begin:>12} {end:>12} {actor:<12} {operation:?} -> {outcome:?}");
        }
        for (number, room) in self.rooms.iter().enumerate() {
            let _ = writeln!(text, "room {number} at the end:");
            for LastRow { row, work } in room {
                let _ = writeln!(text, "  {} {:?} {work:?}", row.id, row.text);
            }
        }
        for (agent, waiting) in self.waiting.iter().enumerate() {
            let _ = writeln!(text, "waits for agent {agent} of room {}: {waiting:?}", self.agents[agent]);
        }
        text
    }
}
