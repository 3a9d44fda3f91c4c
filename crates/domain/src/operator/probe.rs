//! What a running server knows about itself.

use std::time::Duration;

use async_trait::async_trait;

use super::throughput::Counts;
use crate::id::{NodeId, ParticipantId};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// The kind of store.
    StoreKind {
        /// A file.
        Sqlite = "sqlite",
        /// In memory, lost when the server ends.
        Memory = "memory",
        /// A PostgreSQL database.
        Postgres = "postgresql",
    }
}

/// Facts about a server that need no check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerFacts {
    /// The version of the program.
    pub version: &'static str,
    /// The commit that it was built from, or `unknown`.
    pub commit: &'static str,
    /// The time since the start.
    pub uptime: Duration,
    /// The kind of its store.
    pub store: StoreKind,
    /// Open sockets of users.
    pub user_sockets: u64,
    /// Open sockets of agents.
    pub agent_sockets: u64,
}

/// The result of a check of the installation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The name of the check.
    pub check: &'static str,
    /// `ok`, `warning`, or `fault`.
    pub outcome: &'static str,
    /// What was found.
    pub found: String,
    /// The remedy; `None` if nothing is wrong.
    pub next: Option<String>,
}

/// The condition of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// Whether events of other servers arrive; `None` without a bus.
    pub is_bus_connected: Option<bool>,
    /// Whether large writes are refused since the disk is nearly full.
    pub is_disk_short: bool,
    /// The checks of `parlance doctor` that cost next to nothing.
    pub findings: Vec<Finding>,
}

/// An open socket of this server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenSocket {
    /// Newer sockets have larger numbers.
    pub number: u64,
    /// The user or agent.
    pub who: ParticipantId,
    /// The time at which it was opened.
    pub began_at: Timestamp,
    /// Approximate number of bytes that wait for the client.
    pub queued_bytes: u64,
}

/// Looks at a running server.
#[async_trait]
pub trait ServerProbe: Send + Sync {
    /// The current id of the server; `None` unless it is one of several.
    fn node(&self) -> Option<NodeId>;

    /// The facts.
    fn facts(&self) -> ServerFacts;

    /// The condition.
    async fn condition(&self) -> Condition;

    /// The counters.
    fn counts(&self) -> Counts;

    /// The open sockets with smaller numbers than this one, newest first: at most `limit`.
    fn sockets(&self, before: u64, limit: usize) -> Vec<OpenSocket>;
}
