//! Figures for metrics.
//!
//! Gauges are computed when they are read; counters are updated in one step for all receivers of an
//! event.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Hub;
use super::listeners::Listeners;

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
    /// Sockets that were closed because their queue exceeded its limit.
    pub too_slow: u64,
}

/// The counters.
#[derive(Default)]
pub(super) struct Counts {
    pushes: AtomicU64,
    redeliveries: AtomicU64,
    too_slow: AtomicU64,
}

impl Counts {
    /// Counts an event that was queued for so many sockets.
    pub(super) fn pushed(&self, sockets: u64) {
        self.pushes.fetch_add(sockets, Ordering::Relaxed);
    }
}

impl Hub {
    /// The current figures.
    pub fn figures(&self) -> Figures {
        let mut figures = Figures {
            pushes: self.counts.pushes.load(Ordering::Relaxed),
            redeliveries: self.counts.redeliveries.load(Ordering::Relaxed),
            too_slow: self.counts.too_slow.load(Ordering::Relaxed),
            ..Figures::default()
        };
        for part in 0..self.parts() {
            let shard = self.shard_at(part);
            figures.topics += shard.len();
            figures.listeners += shard.values().map(Listeners::len).sum::<usize>();
        }
        let sockets = self.sockets();
        figures.user_sockets = sockets.users.values().sum();
        figures.agent_sockets = sockets.agents.len();
        figures.remote = sockets.remote.len();
        for bytes in sockets.inboxes.values().map(super::Inbox::queued_bytes) {
            figures.queued_bytes += bytes;
            figures.queued_bytes_max = figures.queued_bytes_max.max(bytes);
        }
        figures
    }

    /// Counts a redelivery.
    pub(super) fn count_redelivery(&self) {
        self.counts.redeliveries.fetch_add(1, Ordering::Relaxed);
        self.counts.pushed(1);
    }

    /// Counts a socket that is closed because its queue exceeded its limit.
    pub(crate) fn count_too_slow(&self) {
        self.counts.too_slow.fetch_add(1, Ordering::Relaxed);
    }
}
