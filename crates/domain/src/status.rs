//! Totals of a store for its operator, without texts or names.

use async_trait::async_trait;

use crate::id::NodeId;
use crate::store::StoreError;
use crate::time::Timestamp;

/// The totals of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoreStatus {
    /// Bytes on disk, with indexes, and without the log of a database that is shared with others.
    pub size_bytes: u64,
    /// Organizations.
    pub organizations: u64,
    /// Those that are paused.
    pub paused_organizations: u64,
    /// Users, including disabled ones.
    pub users: u64,
    /// Agents that are not deleted.
    pub agents: u64,
    /// Those that are paused.
    pub paused_agents: u64,
    /// Chats that are not deleted.
    pub chats: u64,
    /// Texts and events in these chats.
    pub messages: u64,
    /// The servers of a cluster; `None` for a store that servers never share.
    pub cluster: Option<ClusterStatus>,
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

/// A server of a cluster, by the clock of the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeLease {
    /// The server.
    pub node: NodeId,
    /// The time at which it joined.
    pub entered_at: Timestamp,
    /// The time until which it counts as alive, unless it renews its lease.
    pub lease_until: Timestamp,
    /// Whether that time has not passed.
    pub is_alive: bool,
}

/// Reads the totals of a store.
#[async_trait]
pub trait StatusRepository: Send + Sync {
    /// The totals. Each figure is consistent on its own; they are not all of the same moment.
    async fn status(&self) -> Result<StoreStatus, StoreError>;

    /// The servers of a cluster that were not cleared, oldest first; none for a store that servers never share.
    async fn node_leases(&self) -> Result<Vec<NodeLease>, StoreError>;
}
