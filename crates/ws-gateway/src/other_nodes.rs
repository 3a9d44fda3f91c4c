//! The port to the other nodes of a cluster: what sockets report to them, and need of them.

use std::sync::Arc;

use async_trait::async_trait;
use domain::id::ParticipantId;
use domain::node::{AgentClaim, Granted};

use crate::topic::Topic;

/// The other nodes.
#[async_trait]
pub trait OtherNodes: Send + Sync {
    /// Claims the live socket of an agent; `pending` is opened, settled, or failed, now or later.
    fn claim(&self, pending: Box<dyn PendingClaim>);

    /// Records that the presence of a user or agent on this node has changed.
    fn note(&self, who: ParticipantId);

    /// Resolves when everything recorded before is known to the other nodes, or has failed.
    async fn written(&self);

    /// Takes the events of other nodes that a new subscription needs.
    fn hold(&self, topic: Topic, is_human: bool) -> Held;

    /// Waits until the events that are held arrive, so that no event is missed that is stored after
    /// the store is read.
    async fn settled(&self);
}

/// A socket of an agent that waits for its claim.
pub trait PendingClaim: Send {
    /// The claim.
    fn claim(&self) -> AgentClaim;

    /// Returns whether its client has gone: the claim must not supersede a later socket.
    fn is_abandoned(&self) -> bool;

    /// Opens the socket without a decision of the store.
    fn open(self: Box<Self>);

    /// Opens the socket if the store has granted the claim, else refuses it.
    fn settle(self: Box<Self>, granted: Granted);

    /// Refuses the socket, because the store did not answer.
    fn fail(self: Box<Self>);
}

/// Counts the subscriptions that need the events of a topic.
pub trait Holders: Send + Sync {
    /// A subscription has begun.
    fn add(&self, topic: Topic, is_human: bool);

    /// A subscription has ended.
    fn remove(&self, topic: Topic, is_human: bool);
}

/// The events that one subscription needs; released when it is dropped.
#[derive(Default)]
pub struct Held(Option<Box<Needs>>);

struct Needs {
    holders: Arc<dyn Holders>,
    topic: Topic,
    is_human: bool,
}

impl Held {
    /// Counts a subscription with these holders, until it is dropped.
    pub fn by(holders: Arc<dyn Holders>, topic: Topic, is_human: bool) -> Self {
        holders.add(topic, is_human);
        Self(Some(Box::new(Needs { holders, topic, is_human })))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(needs) = &self.0 {
            needs.holders.remove(needs.topic, needs.is_human);
        }
    }
}

/// Stands for the other nodes on a single server.
pub struct Alone;

#[async_trait]
impl OtherNodes for Alone {
    fn claim(&self, pending: Box<dyn PendingClaim>) {
        pending.open();
    }

    fn note(&self, _: ParticipantId) {}

    async fn written(&self) {}

    fn hold(&self, _: Topic, _: bool) -> Held {
        Held::default()
    }

    async fn settled(&self) {}
}
