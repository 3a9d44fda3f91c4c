//! The other nodes that users and agents are connected to, as far as this node knows.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::id::{NodeId, ParticipantId};
use domain::node::Connected;
use ws_gateway::Hub;

/// The nodes of each user and agent that is connected elsewhere. The hub is called under the lock, so
/// that it sees the changes in order.
#[derive(Default)]
pub(crate) struct RemotePresence(Mutex<HashMap<ParticipantId, Vec<NodeId>>>);

impl RemotePresence {
    /// Replaces the connections of a user or agent to other nodes by those in the store.
    pub(crate) fn set(&self, hub: &Hub, who: ParticipantId, connected: &[Connected]) {
        let mut nodes = self.nodes();
        if connected.is_empty() {
            nodes.remove(&who);
        } else {
            nodes.insert(who, connected.iter().map(|there| there.node).collect());
        }
        hub.observe(who, connected);
    }

    /// Removes all connections to a node that was cleared.
    pub(crate) fn clear(&self, hub: &Hub, node: NodeId) {
        self.nodes().retain(|who, nodes| {
            let was_there = nodes.contains(&node);
            nodes.retain(|there| *there != node);
            if was_there && nodes.is_empty() {
                hub.observe(*who, &[]);
                if let Some(agent) = who.agent() {
                    hub.note_server_lost(agent);
                }
            }
            !nodes.is_empty()
        });
    }

    /// Everybody who is connected to another node.
    pub(crate) fn all(&self) -> Vec<ParticipantId> {
        self.nodes().keys().copied().collect()
    }

    fn nodes(&self) -> MutexGuard<'_, HashMap<ParticipantId, Vec<NodeId>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
