//! What there is and what has happened, for whoever looks at it from time to time.
//!
//! What can be found out when somebody asks is not kept; what cannot is counted, in one step for all who
//! hear the same event.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Hub;
use super::listeners::Listeners;

/// The sockets of a process, at one moment, and what has happened to them since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Open sockets of users.
    pub user_sockets: usize,
    /// Open sockets of agents.
    pub agent_sockets: usize,
    /// Users and agents that are connected to other nodes, as far as this one has heard.
    pub remote: usize,
    /// Topics that somebody listens to.
    pub topics: usize,
    /// Stays of sockets on topics.
    pub listeners: usize,
    /// Bytes that wait for all clients.
    pub queued_bytes: usize,
    /// Bytes that wait for the client that is furthest behind.
    pub queued_bytes_max: usize,
    /// Events that were put on their way to a socket.
    pub pushes: u64,
    /// Messages that were redelivered.
    pub redeliveries: u64,
    /// Sockets that were ended since their client let too much wait.
    pub too_slow: u64,
}

/// What is counted.
#[derive(Default)]
pub(super) struct Counts {
    pushes: AtomicU64,
    redeliveries: AtomicU64,
    too_slow: AtomicU64,
}

impl Counts {
    /// An event is on its way to so many sockets.
    pub(super) fn pushed(&self, sockets: u64) {
        self.pushes.fetch_add(sockets, Ordering::Relaxed);
    }
}

impl Hub {
    /// What there is, and what has happened.
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

    /// A socket ends since its client let too much wait.
    pub(crate) fn count_too_slow(&self) {
        self.counts.too_slow.fetch_add(1, Ordering::Relaxed);
    }
}
