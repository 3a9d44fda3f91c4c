//! The port to the other nodes of a cluster: what sockets report to them, and need of them.

use async_trait::async_trait;
use domain::id::ParticipantId;
use domain::node::{AgentClaim, Granted};

use crate::topic::Topic;

/// The other nodes.
#[async_trait]
pub trait OtherNodes: Send + Sync {
    /// Claims the live socket of an agent; `pending` is opened, resolved, or failed, now or later.
    fn claim(&self, pending: Box<dyn PendingClaim>);

    /// Records that the presence of a user or agent on this node has changed.
    fn presence_changed(&self, who: ParticipantId);

    /// Resolves when every claim and change of presence recorded before is stored, or has failed.
    async fn stored(&self);

    /// Takes an interest in the events of other nodes that a new subscription needs, until the guard
    /// is dropped.
    fn take_interest(&self, topic: Topic, is_human: bool) -> Option<InterestGuard>;

    /// Waits until the events of all interests arrive, so that no event is missed that is stored
    /// after the store is read.
    async fn interests_confirmed(&self);
}

/// The interest of one subscription in events of other nodes; dropping it ends the interest.
pub type InterestGuard = Box<dyn Send + Sync>;

/// A socket of an agent that waits for its claim.
pub trait PendingClaim: Send {
    /// The claim.
    fn claim(&self) -> AgentClaim;

    /// Returns whether its client has gone: the claim must not supersede a later socket.
    fn is_abandoned(&self) -> bool;

    /// Opens the socket without a decision of the store.
    fn open(self: Box<Self>);

    /// Opens the socket if the store has granted the claim, else refuses it.
    fn resolve(self: Box<Self>, granted: Granted);

    /// Refuses the socket, because the store did not answer.
    fn fail(self: Box<Self>);
}

/// Stands for the other nodes on a single server: there are none.
pub struct SingleNode;

#[async_trait]
impl OtherNodes for SingleNode {
    fn claim(&self, pending: Box<dyn PendingClaim>) {
        pending.open();
    }

    fn presence_changed(&self, _: ParticipantId) {}

    async fn stored(&self) {}

    fn take_interest(&self, _: Topic, _: bool) -> Option<InterestGuard> {
        None
    }

    async fn interests_confirmed(&self) {}
}
