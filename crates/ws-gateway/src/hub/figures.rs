//! Figures for metrics.
//!
//! Gauges are computed when they are read; counters are updated in one step for all receivers of an
//! event.

use super::end_reason::EndCounts;

/// The sockets of a process at one moment, and counters since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Open sockets of users.
    pub user_sockets: usize,
    /// Open sockets of agents.
    pub agent_sockets: usize,
    /// Users and agents that are connected to other nodes, as far as this node knows.
    pub remote: usize,
    /// Topics with subscribers.
    pub topics: usize,
    /// Subscriptions of sockets to topics.
    pub listeners: usize,
    /// Bytes in the queues of all clients.
    pub queued_bytes: usize,
    /// Bytes in the longest queue of a client.
    pub queued_bytes_max: usize,
    /// Events that were queued for a socket.
    pub pushes: u64,
    /// Messages that were redelivered.
    pub redeliveries: u64,
    /// Sockets that have ended, by reason.
    pub ended: EndCounts,
}
