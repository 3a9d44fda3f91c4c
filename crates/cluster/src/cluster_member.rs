//! Membership of this server in a cluster: keeps its lease, claims the live sockets of agents in
//! the store, stores the presence on this node, and reads the presence on the others.
//!
//! One task writes batch after batch, so that the changes of one user or agent are stored in order:
//! of two sockets of an agent on this node, the one whose claim was granted later is the live one
//! here as well.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::bus::RunningBus;
use domain::id::{NodeId, ParticipantId};
use domain::node::{
    AgentClaim, CLEARED_EVERY, ClaimReason, Connected, GRACE, Granted, LEASE, MIN_REMAINING_LEASE,
    NodeRepository, PresenceChange, RENEWED_EVERY, Registered, StoreContinuity,
};
use domain::ports::{Clock, IdGenerator};
use domain::store::StoreError;
use futures_util::future::join;
use measure::Outage;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep, timeout};
use ws_gateway::Hub;

use crate::node::{LocalNode, NodeState, PendingWrites};
use crate::node_events::NodeEvents;
use crate::remote_presence::RemotePresence;
use crate::resync::Resync;
use crate::revalidator::StaleChats;

/// The pause after a failed write.
const RETRY: Duration = Duration::from_millis(500);

/// The number of connections per read.
const PAGE: u32 = 1_000;

/// The number of sockets that a node claims per batch when it registers again.
const KEPT_AT_ONCE: usize = 256;

/// The number of rows of cleared nodes that are erased at a time, so that no claim waits for it,
/// and the number of rounds between two searches for rows that another node has not erased.
const ERASED_AT_ONCE: u32 = 500;
const ERASED_EVERY: u32 = 60;

/// The maximum number of attempts to write a batch if this node is cleared during each.
const TRIES: usize = 3;

/// A server as one of several nodes.
pub struct ClusterMember {
    node: Arc<LocalNode>,
    events: Arc<NodeEvents>,
    nodes: Arc<dyn NodeRepository>,
    remote: RemotePresence,
    resync: Resync,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

impl ClusterMember {
    /// Registers a node for the sockets of this hub, which report to `node`; must precede the first
    /// connection.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn begin(
        node: Arc<LocalNode>,
        events: Arc<NodeEvents>,
        nodes: Arc<dyn NodeRepository>,
        bus: Option<Arc<dyn RunningBus>>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Result<Self, StoreError> {
        nodes.enter(node.id(), LEASE).await?;
        let remote = RemotePresence::default();
        let resync = Resync::new(node.clone(), events.clone(), nodes.clone(), clock.clone(), bus);
        Ok(Self { node, events, nodes, remote, resync, clock, ids })
    }

    fn hub(&self) -> &Hub {
        self.events.hub()
    }

    /// The chats to be compared with the store.
    pub(crate) fn stale_chats(&self) -> Arc<StaleChats> {
        self.events.stale_chats()
    }

    /// The current id of the node.
    pub fn node(&self) -> NodeId {
        self.node.id()
    }

    /// Resynchronization after events were lost.
    pub fn resync(&self) -> &Resync {
        &self.resync
    }

    /// Writes claims and presence, until it is dropped.
    pub async fn run(&self) {
        let mut outage = Outage::default();
        loop {
            self.node.queued().await;
            while let Some(batch) = self.node.take_pending() {
                let written = self.write(batch).await;
                outage.log(
                    &written,
                    "presence of this node cannot be stored, retrying",
                    "presence of this node stored again",
                );
                if written.is_err() {
                    sleep(RETRY).await;
                }
            }
        }
    }

    async fn write(&self, batch: PendingWrites) -> Result<(), StoreError> {
        let PendingWrites { claims, presence, waiters } = batch;
        let asked = claims.iter().map(|pending| pending.claim()).collect::<Vec<_>>();
        let outcome = match self.register(self.hub().presence_changes(&presence), asked).await {
            Ok(granted) => {
                for (pending, granted) in claims.into_iter().zip(granted) {
                    pending.resolve(granted);
                }
                Ok(())
            }
            Err(error) => {
                // The outcome is unknown, so their presence is written again.
                self.node.queue_presence(presence);
                for pending in claims {
                    self.node.queue_presence([ParticipantId::Agent(pending.claim().agent)]);
                    pending.fail();
                }
                Err(error)
            }
        };
        drop(waiters);
        outcome
    }

    async fn register(
        &self,
        changes: Vec<PresenceChange>,
        claims: Vec<AgentClaim>,
    ) -> Result<Vec<Granted>, StoreError> {
        for _ in 0..TRIES {
            self.return_if_cleared().await?;
            let node = self.node();
            if changes.is_empty() && claims.is_empty() {
                return Ok(Vec::new());
            }
            match self.nodes.register(node, changes.clone(), claims.clone()).await? {
                Registered::Done(granted) => return Ok(granted),
                Registered::Cleared => self.node.cleared(node),
            }
        }
        Err(StoreError::Unavailable("this node is removed repeatedly".into()))
    }

    /// Registers as a new node if this one was cleared. Its sockets stay open, except those that were
    /// superseded.
    async fn return_if_cleared(&self) -> Result<(), StoreError> {
        if self.node.state() == NodeState::Cleared {
            tracing::warn!("lease of this node expired; registering as a new node");
            let node = NodeId::new(self.ids.generate(self.clock.now()));
            self.nodes.enter(node, LEASE).await?;
            self.node.return_as(node);
        }
        if self.node.state() != NodeState::Returning {
            return Ok(());
        }
        let (agents, others) = self.hub().who_is_here();
        self.node.queue_presence(others);
        for part in agents.chunks(KEPT_AT_ONCE) {
            let node = self.node();
            let claim = |agent: &_| AgentClaim { agent: *agent, claiming: ClaimReason::Reregistered };
            let claims = part.iter().map(claim).collect();
            let Registered::Done(granted) = self.nodes.register(node, Vec::new(), claims).await? else {
                self.node.cleared(node);
                return Err(StoreError::Unavailable("this node was removed while it was registering".into()));
            };
            let mut taken_over = Vec::new();
            for (agent, number) in part.iter().zip(granted) {
                match number {
                    Some(number) => self.hub().renumber(*agent, number),
                    None => taken_over.push(ParticipantId::Agent(*agent)),
                }
            }
            self.refresh_presence_of(taken_over).await?;
        }
        self.node.returned();
        Ok(())
    }

    /// Renews the lease, and clears nodes whose lease has expired, until it is dropped. Neither
    /// task waits for the other.
    pub async fn keep_lease(&self) {
        let contact = Mutex::default();
        join(self.renew_again_and_again(&contact), self.clear_again_and_again(&contact)).await;
    }

    async fn renew_again_and_again(&self, contact: &Mutex<StoreContinuity>) {
        let mut ticks = ticks();
        let mut renewed_at = Instant::now();
        of(contact).renewed(renewed_at.into_std());
        let mut outage = Outage::default();
        loop {
            ticks.tick().await;
            if renewed_at.elapsed() < RENEWED_EVERY {
                continue;
            }
            // A hanging connection must not cost the lease: the next attempt uses another one.
            let renewed = timeout(RENEWED_EVERY, self.renew()).await;
            let hangs = || Err(StoreError::Unavailable("no answer in time".into()));
            let renewed = renewed.unwrap_or_else(|_| hangs());
            outage.log(
                &renewed,
                "lease of this node cannot be renewed, retrying",
                "lease of this node renewed again",
            );
            if renewed.is_ok() {
                renewed_at = Instant::now();
                of(contact).renewed(renewed_at.into_std());
            } else {
                of(contact).lost();
            }
        }
    }

    async fn clear_again_and_again(&self, contact: &Mutex<StoreContinuity>) {
        let mut ticks = ticks();
        let (mut looks, mut erases) = (0_u32, false);
        loop {
            ticks.tick().await;
            if !of(contact).may_clear(Instant::now().into_std()) {
                continue;
            }
            looks = looks.wrapping_add(1);
            erases |= looks.is_multiple_of(ERASED_EVERY);
            match self.clear(erases).await {
                Ok(is_left) => erases = is_left,
                Err(error) => {
                    tracing::debug!(error = %error, "expired nodes cannot be removed, retrying");
                }
            }
        }
    }

    async fn renew(&self) -> Result<(), StoreError> {
        let node = self.node();
        if !self.nodes.renew(node, LEASE).await? {
            self.node.cleared(node);
        }
        Ok(())
    }

    /// Clears expired nodes, and erases some rows of cleared nodes if `erases`. Returns whether
    /// more rows may remain.
    async fn clear(&self, erases: bool) -> Result<bool, StoreError> {
        let cleared = self.nodes.clear(self.node(), MIN_REMAINING_LEASE).await?;
        if cleared > 0 {
            tracing::warn!(nodes = cleared, "removed expired nodes");
        }
        Ok(cleared > 0 || (erases && self.nodes.erase_cleared(ERASED_AT_ONCE).await? > 0))
    }

    /// Unregisters the node after its last socket was closed. Its users and agents count as present
    /// for some seconds more.
    ///
    /// # Errors
    /// Those of the store; the node is then cleared when its lease expires.
    pub async fn leave(&self) -> Result<(), StoreError> {
        self.nodes.leave(self.node(), GRACE).await
    }

    /// Reads all connections to other nodes; later changes are in the change log.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn load_remote_presence(&self) -> Result<(), StoreError> {
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let page = self.nodes.connected_agents(after, PAGE).await?;
            after = page.last().and_then(|last| last.who.agent());
            all.extend(page);
            if after.is_none() {
                break;
            }
        }
        let mut after = None;
        loop {
            let page = self.nodes.connected_users(after, PAGE).await?;
            after = page.last().and_then(|last| Some((last.who.user()?, last.node)));
            all.extend(page);
            if after.is_none() {
                break;
            }
        }
        let mut by_person = HashMap::<_, Vec<_>>::new();
        for one in all {
            by_person.entry(one.who).or_default().push(one);
        }
        // Those who are not in the list are gone.
        for who in self.remote.all() {
            by_person.entry(who).or_default();
        }
        for (who, connected) in by_person {
            self.observe(who, &connected);
        }
        Ok(())
    }

    /// Reads where these users and agents are connected now.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn refresh_presence_of(&self, who: Vec<ParticipantId>) -> Result<(), StoreError> {
        if who.is_empty() {
            return Ok(());
        }
        let connected = self.nodes.whereabouts(who.clone()).await?;
        for who in who {
            self.observe(who, &connected);
        }
        Ok(())
    }

    /// Applies the connections of one user or agent, out of a list from the store.
    fn observe(&self, who: ParticipantId, connected: &[Connected]) {
        let own = self.node();
        let remote = connected.iter().filter(|one| one.who == who && one.node != own);
        self.remote.set(self.hub(), who, &remote.copied().collect::<Vec<_>>());
    }

    /// Applies that a node was cleared, this one perhaps.
    pub(crate) fn node_cleared(&self, node: NodeId) {
        self.node.cleared(node);
        self.remote.clear(self.hub(), node);
    }
}

fn ticks() -> Interval {
    let mut ticks = interval(CLEARED_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

fn of(contact: &Mutex<StoreContinuity>) -> MutexGuard<'_, StoreContinuity> {
    contact.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
