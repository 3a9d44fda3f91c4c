//! A server as one of several nodes on one store.
//!
//! - [`node`](LocalNode): what the hub reports to the other nodes: claims and presence to be stored,
//!   and the events that its subscriptions need (`interests`);
//! - [`cluster_member`](ClusterMember): the lease, the claims, and presence on the other nodes
//!   (`remote_presence`);
//! - [`node_events`](NodeEvents): events of this node and of others on their way to its sockets;
//!   joins that were announced are remembered (`recent_joins`);
//! - [`change_feed`](ChangeFeed): follows the change log, also on a single server, whose store is
//!   changed by commands as well;
//! - `revalidator`: compares subscriptions with the store, for chats whose participants changed
//!   according to events of others or to the change log;
//! - `resync`: reads the store after events were lost.
//!
//! A single server has only the change feed and the `revalidator`; its hub reports to
//! [`SingleNode`](ws_gateway::other_nodes::SingleNode).

mod change_feed;
mod cluster_member;
mod follow_ups;
mod interests;
mod node;
mod node_events;
mod recent_joins;
mod remote_presence;
mod resync;
mod revalidator;

pub use change_feed::{ChangeFeed, forget_changes};
pub use cluster_member::ClusterMember;
pub use node::LocalNode;
pub use node_events::{NodeEvents, RemoteEventSink};
pub use resync::Resync;

#[cfg(test)]
mod tests;
