//! What a node has to say of its sockets, until the store has it: agents that ask for the place of their live
//! socket, and people whose standing on this node is another one.
//!
//! Of the latter only who they are is noted. What is written is how they stand when it is written, so however
//! often they come and go, and whatever goes wrong, the last word is the true one.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::account::Presented;
use domain::caller::AgentCaller;
use domain::id::{NodeId, ParticipantId};
use domain::node::{AgentClaim, Claiming, OnConflict};
use tokio::sync::{Notify, oneshot};

use crate::hub::{Claim, ClaimRefused, ConnectionSlot};
use crate::inbox::Reader;

/// The most claims that share a change of the store.
const CLAIMS: usize = 256;

/// The most people whose standing shares a change of the store.
const NOTES: usize = 2_000;

/// A socket, or why there is none.
pub(crate) type Opened = Result<(Claim, Reader), ClaimRefused>;

/// An agent's newcomer that waits for its place.
pub(crate) struct Asked {
    pub(crate) caller: AgentCaller,
    pub(crate) presented: Presented,
    pub(crate) on_conflict: OnConflict,
    pub(crate) slot: ConnectionSlot,
    pub(crate) answer: oneshot::Sender<Opened>,
}

impl Asked {
    pub(crate) fn claim(&self) -> AgentClaim {
        AgentClaim { agent: self.caller.agent, claiming: Claiming::Newcomer(self.on_conflict) }
    }
}

/// What is written together.
pub(crate) struct Batch {
    pub(crate) claims: Vec<Asked>,
    pub(crate) noted: Vec<ParticipantId>,
    /// Told by being dropped.
    pub(crate) waiters: Vec<oneshot::Sender<()>>,
}

/// How the node stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeState {
    /// The store knows it.
    Alive,
    /// It was cleared, and has to begin as a new one.
    Cleared,
    /// It has begun as a new one, which has not claimed its sockets yet.
    Returning,
}

struct Waiting {
    node: NodeId,
    state: NodeState,
    claims: VecDeque<Asked>,
    noted: HashSet<ParticipantId>,
    waiters: Vec<oneshot::Sender<()>>,
}

/// What waits to be written.
pub(crate) struct Registry {
    waiting: Mutex<Waiting>,
    some: Notify,
}

impl Registry {
    pub(crate) fn of(node: NodeId) -> Self {
        let (claims, noted, waiters) = Default::default();
        let waiting = Waiting { node, state: NodeState::Alive, claims, noted, waiters };
        Self { waiting: Mutex::new(waiting), some: Notify::new() }
    }

    /// Which node this is, now.
    pub(crate) fn node(&self) -> NodeId {
        self.waiting().node
    }

    pub(crate) fn state(&self) -> NodeState {
        self.waiting().state
    }

    /// The node was cleared.
    pub(crate) fn cleared(&self, node: NodeId) {
        let mut waiting = self.waiting();
        if waiting.node == node {
            waiting.state = NodeState::Cleared;
            self.some.notify_one();
        }
    }

    /// It is another one from now on.
    pub(crate) fn return_as(&self, node: NodeId) {
        let mut waiting = self.waiting();
        (waiting.node, waiting.state) = (node, NodeState::Returning);
    }

    /// Its sockets are claimed.
    pub(crate) fn returned(&self) {
        let mut waiting = self.waiting();
        if waiting.state == NodeState::Returning {
            waiting.state = NodeState::Alive;
        }
    }

    /// Somebody's standing is to be written.
    pub(crate) fn note(&self, who: ParticipantId) {
        self.waiting().noted.insert(who);
        self.some.notify_one();
    }

    /// That of all of these.
    pub(crate) fn note_all(&self, who: impl IntoIterator<Item = ParticipantId>) {
        self.waiting().noted.extend(who);
        self.some.notify_one();
    }

    /// A newcomer waits for its place.
    pub(crate) fn ask(&self, asked: Asked) {
        self.waiting().claims.push_back(asked);
        self.some.notify_one();
    }

    /// Ready when all that was noted before is written, or could not be.
    pub(crate) async fn written(&self) {
        let (waiter, written) = oneshot::channel();
        self.waiting().waiters.push(waiter);
        self.some.notify_one();
        // It is dropped, which is all there is to it.
        let _ = written.await;
    }

    /// Ready when there is something to do.
    pub(crate) async fn some(&self) {
        self.some.notified().await;
    }

    /// What is to be written next, if there is something to do.
    pub(crate) fn take(&self) -> Option<Batch> {
        let mut waiting = self.waiting();
        // Who has stopped waiting must not end the socket of who came after.
        waiting.claims.retain(|asked| !asked.answer.is_closed());
        let count = waiting.claims.len().min(CLAIMS);
        let claims = waiting.claims.drain(..count).collect::<Vec<_>>();
        let noted = waiting.noted.iter().copied().take(NOTES).collect::<Vec<_>>();
        for who in &noted {
            waiting.noted.remove(who);
        }
        let all = waiting.noted.is_empty();
        let waiters = if all { std::mem::take(&mut waiting.waiters) } else { Vec::new() };
        let is_idle = claims.is_empty() && noted.is_empty() && waiting.state == NodeState::Alive;
        (!is_idle).then_some(Batch { claims, noted, waiters })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
