//! This node, as its sockets use it: the claims and changes of presence that are not stored yet, and
//! the events that its subscriptions need of other nodes.
//!
//! For presence, only the ids are queued: the state is read when it is written. However often a
//! user or agent connects and disconnects, and whatever fails, the last write is the current state.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use domain::bus::EventBus;
use domain::id::{NodeId, ParticipantId};
use tokio::sync::{Notify, oneshot};
use ws_gateway::other_nodes::{InterestGuard, OtherNodes, PendingClaim};
use ws_gateway::topic::Topic;

use crate::interests::Interests;

/// The maximum number of claims per transaction.
const CLAIMS: usize = 256;

/// The maximum number of presence changes per transaction.
const PRESENCE_CHANGES: usize = 2_000;

/// The contents of one write transaction.
pub(crate) struct PendingWrites {
    pub(crate) claims: Vec<Box<dyn PendingClaim>>,
    pub(crate) presence: Vec<ParticipantId>,
    /// Notified by being dropped.
    pub(crate) waiters: Vec<oneshot::Sender<()>>,
}

/// The state of this node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeState {
    /// Registered in the store.
    Alive,
    /// Cleared by another node; must register again.
    Cleared,
    /// Registered again, without having claimed its sockets yet.
    Returning,
}

struct Waiting {
    node: NodeId,
    state: NodeState,
    claims: VecDeque<Box<dyn PendingClaim>>,
    presence: HashSet<ParticipantId>,
    waiters: Vec<oneshot::Sender<()>>,
}

/// The port of a hub in a cluster. A [`ClusterMember`](crate::ClusterMember) stores what is queued
/// here.
pub struct LocalNode {
    waiting: Mutex<Waiting>,
    queued: Notify,
    interests: Option<Arc<Interests>>,
}

impl LocalNode {
    /// Makes a node; without a bus it receives no events of other nodes.
    pub fn new(node: NodeId, bus: Option<Arc<dyn EventBus>>) -> Arc<Self> {
        let (claims, presence, waiters) = Default::default();
        let waiting = Mutex::new(Waiting { node, state: NodeState::Alive, claims, presence, waiters });
        Arc::new(Self { waiting, queued: Notify::new(), interests: bus.map(Interests::new) })
    }

    /// The current id of this node.
    pub fn id(&self) -> NodeId {
        self.waiting().node
    }

    pub(crate) fn state(&self) -> NodeState {
        self.waiting().state
    }

    /// Records that this node was cleared.
    pub(crate) fn cleared(&self, node: NodeId) {
        let mut waiting = self.waiting();
        if waiting.node == node {
            waiting.state = NodeState::Cleared;
            self.queued.notify_one();
        }
    }

    /// Continues as another node, which must claim its sockets.
    pub(crate) fn return_as(&self, node: NodeId) {
        let mut waiting = self.waiting();
        (waiting.node, waiting.state) = (node, NodeState::Returning);
    }

    /// Records that all sockets are claimed.
    pub(crate) fn returned(&self) {
        let mut waiting = self.waiting();
        if waiting.state == NodeState::Returning {
            waiting.state = NodeState::Alive;
        }
    }

    /// Queues changes of the presence of several users and agents.
    pub(crate) fn queue_presence(&self, who: impl IntoIterator<Item = ParticipantId>) {
        self.waiting().presence.extend(who);
        self.queued.notify_one();
    }

    /// Resolves when there is something to write.
    pub(crate) async fn queued(&self) {
        self.queued.notified().await;
    }

    /// Takes the next batch, if there is something to write.
    pub(crate) fn take_pending(&self) -> Option<PendingWrites> {
        let mut waiting = self.waiting();
        // A claim whose client has gone must not supersede a later socket.
        waiting.claims.retain(|pending| !pending.is_abandoned());
        let count = waiting.claims.len().min(CLAIMS);
        let claims = waiting.claims.drain(..count).collect::<Vec<_>>();
        let presence = waiting.presence.iter().copied().take(PRESENCE_CHANGES).collect::<Vec<_>>();
        for who in &presence {
            waiting.presence.remove(who);
        }
        let all = waiting.presence.is_empty();
        let waiters = if all { std::mem::take(&mut waiting.waiters) } else { Vec::new() };
        let is_idle = claims.is_empty() && presence.is_empty() && waiting.state == NodeState::Alive;
        (!is_idle).then_some(PendingWrites { claims, presence, waiters })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl OtherNodes for LocalNode {
    fn claim(&self, pending: Box<dyn PendingClaim>) {
        self.waiting().claims.push_back(pending);
        self.queued.notify_one();
    }

    fn presence_changed(&self, who: ParticipantId) {
        self.queue_presence([who]);
    }

    async fn stored(&self) {
        let (waiter, stored) = oneshot::channel();
        self.waiting().waiters.push(waiter);
        self.queued.notify_one();
        // The sender is dropped as the notification.
        let _ = stored.await;
    }

    fn take_interest(&self, topic: Topic, is_human: bool) -> Option<InterestGuard> {
        let taken = self.interests.as_ref()?.take(topic, is_human);
        Some(Box::new(taken))
    }

    async fn interests_confirmed(&self) {
        if let Some(interests) = &self.interests {
            interests.confirmed().await;
        }
    }
}
