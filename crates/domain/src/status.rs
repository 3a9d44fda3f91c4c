//! What a store holds as a whole, for its operator: one look, without anybody's texts or names.

use async_trait::async_trait;

use crate::delivery::DeliveryStatus;
use crate::store::StoreError;
use crate::time::Timestamp;

/// What a store holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoreStatus {
    /// Bytes on disk, with indexes, and without the log of a database that is shared with others.
    pub size_bytes: u64,
    /// Organizations.
    pub organizations: u64,
    /// Users, disabled ones too.
    pub users: u64,
    /// Agents that are not deleted.
    pub agents: u64,
    /// Chats that are not deleted.
    pub chats: u64,
    /// Texts and events in these chats.
    pub messages: u64,
    /// What agents have to do.
    pub work: OpenWork,
    /// The servers of a cluster; `None` where the store is never shared by servers.
    pub cluster: Option<ClusterStatus>,
}

/// Messages that agents have not processed, in chats in which they take part. A message for two agents counts twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenWork {
    /// Which no agent has been given yet.
    pub new: u64,
    /// Which their agent has, and has not begun.
    pub delivered: u64,
    /// On which their agent works.
    pub processing: u64,
    /// Whose last attempt failed; they are offered again.
    pub failed: u64,
    /// When the oldest of all these was sent.
    pub oldest: Option<Timestamp>,
}

impl OpenWork {
    /// Adds messages of one status, the oldest of which was sent then.
    pub fn add(&mut self, status: DeliveryStatus, count: u64, oldest: Option<Timestamp>) {
        let place = match status {
            DeliveryStatus::New => &mut self.new,
            DeliveryStatus::Delivered => &mut self.delivered,
            DeliveryStatus::Processing => &mut self.processing,
            DeliveryStatus::Failed => &mut self.failed,
            DeliveryStatus::Processed => return,
        };
        *place += count;
        self.oldest = self.oldest.into_iter().chain(oldest).min();
    }

    /// All of them.
    pub fn total(self) -> u64 {
        self.new + self.delivered + self.processing + self.failed
    }
}

/// The servers of a cluster, and who is connected to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClusterStatus {
    /// Servers that are alive.
    pub nodes: u64,
    /// Agents with a socket.
    pub connected_agents: u64,
    /// Users with a socket.
    pub connected_users: u64,
}

/// A look at a store as a whole.
#[async_trait]
pub trait StatusRepository: Send + Sync {
    /// What it holds. Each figure is of one moment, not all of the same.
    async fn status(&self) -> Result<StoreStatus, StoreError>;
}
