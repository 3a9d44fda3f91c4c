//! This node, as its sockets use it: what they report to the other nodes, and need of them.

use std::sync::Arc;

use async_trait::async_trait;
use domain::bus::EventBus;
use domain::id::{NodeId, ParticipantId};
use ws_gateway::other_nodes::{Held, OtherNodes, PendingClaim};
use ws_gateway::topic::Topic;

use crate::claim_queue::ClaimQueue;
use crate::interests::Interests;

/// The port of a hub in a cluster. A [`ClusterMember`](crate::ClusterMember) stores what is queued
/// here.
pub struct Node {
    pub(crate) claim_queue: ClaimQueue,
    interests: Option<Arc<Interests>>,
}

impl Node {
    /// Makes a node; without a bus it receives no events of other nodes.
    pub fn new(id: NodeId, bus: Option<Arc<dyn EventBus>>) -> Arc<Self> {
        Arc::new(Self { claim_queue: ClaimQueue::of(id), interests: bus.map(Interests::new) })
    }

    /// The current id of the node.
    pub fn id(&self) -> NodeId {
        self.claim_queue.node()
    }
}

#[async_trait]
impl OtherNodes for Node {
    fn claim(&self, pending: Box<dyn PendingClaim>) {
        self.claim_queue.ask(pending);
    }

    fn note(&self, who: ParticipantId) {
        self.claim_queue.note(who);
    }

    async fn written(&self) {
        self.claim_queue.written().await;
    }

    fn hold(&self, topic: Topic, is_human: bool) -> Held {
        self.interests.as_ref().map_or_else(Held::default, |all| Held::by(all.clone(), topic, is_human))
    }

    async fn settled(&self) {
        if let Some(interests) = &self.interests {
            interests.settled().await;
        }
    }
}
