//! Totals of a store for its operator, without texts or names.

use async_trait::async_trait;

use crate::delivery::DeliveryStatus;
use crate::store::StoreError;
use crate::time::Timestamp;

/// The totals of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoreStatus {
    /// Bytes on disk, with indexes, and without the log of a database that is shared with others.
    pub size_bytes: u64,
    /// Organizations.
    pub organizations: u64,
    /// Users, including disabled ones.
    pub users: u64,
    /// Agents that are not deleted.
    pub agents: u64,
    /// Chats that are not deleted.
    pub chats: u64,
    /// Texts and events in these chats.
    pub messages: u64,
    /// The open work of agents.
    pub work: OpenWork,
    /// The servers of a cluster; `None` for a store that servers never share.
    pub cluster: Option<ClusterStatus>,
}

/// Messages that agents have not processed, in chats of which they are participants. A message for
/// two agents counts twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenWork {
    /// Not yet taken by a socket of the agent.
    pub new: u64,
    /// Taken by the agent, and not begun.
    pub delivered: u64,
    /// In processing.
    pub processing: u64,
    /// The last attempt failed; they are offered again.
    pub failed: u64,
    /// The time of the oldest of all these messages.
    pub oldest: Option<Timestamp>,
}

impl OpenWork {
    /// Adds messages of one status, with the time of the oldest.
    pub fn add(&mut self, status: DeliveryStatus, count: u64, oldest: Option<Timestamp>) {
        let counter = match status {
            DeliveryStatus::New => &mut self.new,
            DeliveryStatus::Delivered => &mut self.delivered,
            DeliveryStatus::Processing => &mut self.processing,
            DeliveryStatus::Failed => &mut self.failed,
            DeliveryStatus::Processed | DeliveryStatus::Dead => return,
        };
        *counter += count;
        self.oldest = self.oldest.into_iter().chain(oldest).min();
    }

    /// The total number.
    pub fn total(self) -> u64 {
        self.new + self.delivered + self.processing + self.failed
    }
}

/// The servers of a cluster, and their connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClusterStatus {
    /// Servers that are alive.
    pub nodes: u64,
    /// Agents with a socket.
    pub connected_agents: u64,
    /// Users with a socket.
    pub connected_users: u64,
}

/// Reads the totals of a store.
#[async_trait]
pub trait StatusRepository: Send + Sync {
    /// The totals. Each figure is consistent on its own; they are not all of the same moment.
    async fn status(&self) -> Result<StoreStatus, StoreError>;
}
