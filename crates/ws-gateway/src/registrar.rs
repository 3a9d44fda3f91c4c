//! A server that is one of several: it keeps its lease, asks the store for the places of agents' live sockets, and
//! says who is connected to it; and it learns the same of the others.
//!
//! One task writes, batch after batch, so that what this node says of somebody comes in its order: of two sockets
//! of an agent on this node the one whose claim was granted later is the live one here as well.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use domain::id::{NodeId, ParticipantId};
use domain::node::{
    AgentClaim, CLEARED_EVERY, CLEARS_HOLDING, Claiming, Contact, GRACE, Granted, LEASE, NodeRepository,
    Note, RENEWED_EVERY, Registered,
};
use domain::ports::{Clock, IdGenerator};
use domain::store::StoreError;
use futures_util::future::join;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep, timeout};

use crate::Hub;
use crate::hub::ClaimRefused;
use crate::registry::{Asked, Batch, NodeState, Registry};

mod catch_up;

/// How long the store is left alone after it could not write.
const RETRY: Duration = Duration::from_millis(500);

/// How many people are asked for at a time.
const PAGE: u32 = 1_000;

/// How many sockets a node that begins anew claims at a time.
const KEPT_AT_ONCE: usize = 256;

/// How many rows of cleared nodes are erased at a look, so that nobody who connects waits for it, and every how many
/// looks it is seen to that nothing is left which somebody else has not erased.
const ERASED_AT_ONCE: u32 = 500;
const ERASED_EVERY: u32 = 60;

/// How often a batch is tried as a node that was cleared meanwhile.
const TRIES: usize = 3;

/// What a server does that is one of several.
pub struct Registrar {
    hub: Arc<Hub>,
    nodes: Arc<dyn NodeRepository>,
    registry: Arc<Registry>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

impl Registrar {
    /// Begins a node for the sockets of this hub; to be called before anybody is let in.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn begin(
        hub: Arc<Hub>,
        nodes: Arc<dyn NodeRepository>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
    ) -> Result<Self, StoreError> {
        let node = NodeId::new(ids.generate(clock.now()));
        nodes.enter(node, LEASE).await?;
        let registry = hub.become_one_of_several(node);
        Ok(Self { hub, nodes, registry, clock, ids })
    }

    /// Which node it is, now.
    pub fn node(&self) -> NodeId {
        self.registry.node()
    }

    /// Writes what there is to say, for ever.
    pub async fn run(&self) {
        let mut answers = true;
        loop {
            self.registry.some().await;
            while let Some(batch) = self.registry.take() {
                match self.write(batch).await {
                    Ok(()) => answers = true,
                    Err(error) => {
                        if answers {
                            tracing::warn!(error = %error, "presence of this node cannot be stored, retrying");
                        }
                        answers = false;
                        sleep(RETRY).await;
                    }
                }
            }
        }
    }

    async fn write(&self, batch: Batch) -> Result<(), StoreError> {
        let Batch { claims, noted, waiters } = batch;
        let asked = claims.iter().map(Asked::claim).collect::<Vec<_>>();
        let outcome = match self.register(self.hub.notes(&noted), asked).await {
            Ok(granted) => {
                for (asked, granted) in claims.into_iter().zip(granted) {
                    self.hub.settle_claim(asked, granted);
                }
                Ok(())
            }
            Err(error) => {
                // Whether the store has it or not: how these stand is written again.
                self.registry.note_all(noted);
                for asked in claims {
                    self.registry.note(ParticipantId::Agent(asked.caller.agent));
                    // Who has stopped waiting need not know.
                    let _ = asked.answer.send(Err(ClaimRefused::Unavailable));
                }
                Err(error)
            }
        };
        drop(waiters);
        outcome
    }

    async fn register(&self, notes: Vec<Note>, claims: Vec<AgentClaim>) -> Result<Vec<Granted>, StoreError> {
        for _ in 0..TRIES {
            self.return_if_cleared().await?;
            let node = self.registry.node();
            if notes.is_empty() && claims.is_empty() {
                return Ok(Vec::new());
            }
            match self.nodes.register(node, notes.clone(), claims.clone()).await? {
                Registered::Done(granted) => return Ok(granted),
                Registered::Cleared => self.registry.cleared(node),
            }
        }
        Err(StoreError::Unavailable("this node is removed repeatedly".into()))
    }

    /// Begins as a new node if this one was cleared: its sockets stay, but for those that were taken over.
    async fn return_if_cleared(&self) -> Result<(), StoreError> {
        if self.registry.state() == NodeState::Cleared {
            tracing::warn!("lease of this node expired; registering as a new node");
            let node = NodeId::new(self.ids.generate(self.clock.now()));
            self.nodes.enter(node, LEASE).await?;
            self.registry.return_as(node);
        }
        if self.registry.state() != NodeState::Returning {
            return Ok(());
        }
        let (agents, others) = self.hub.who_is_here();
        self.registry.note_all(others);
        for part in agents.chunks(KEPT_AT_ONCE) {
            let node = self.registry.node();
            let claim = |agent: &_| AgentClaim { agent: *agent, claiming: Claiming::Kept };
            let claims = part.iter().map(claim).collect();
            let Registered::Done(granted) = self.nodes.register(node, Vec::new(), claims).await? else {
                self.registry.cleared(node);
                return Err(StoreError::Unavailable("this node was removed while it was registering".into()));
            };
            let mut taken_over = Vec::new();
            for (agent, number) in part.iter().zip(granted) {
                match number {
                    Some(number) => self.hub.renumber(*agent, number),
                    None => taken_over.push(ParticipantId::Agent(*agent)),
                }
            }
            self.look_for(taken_over).await?;
        }
        self.registry.returned();
        Ok(())
    }

    /// Keeps the lease, and clears those who have not kept theirs, for ever. Neither waits for the other.
    pub async fn keep_lease(&self) {
        let contact = Mutex::default();
        join(self.renew_again_and_again(&contact), self.clear_again_and_again(&contact)).await;
    }

    async fn renew_again_and_again(&self, contact: &Mutex<Contact>) {
        let mut ticks = ticks();
        let mut renewed_at = Instant::now();
        of(contact).renewed(renewed_at);
        let mut answers = true;
        loop {
            ticks.tick().await;
            if renewed_at.elapsed() < RENEWED_EVERY {
                continue;
            }
            // A connection that hangs must not cost the lease: the next try has another.
            let renewed = timeout(RENEWED_EVERY, self.renew()).await;
            let hangs = || Err(StoreError::Unavailable("no answer in time".into()));
            match renewed.unwrap_or_else(|_| hangs()) {
                Ok(()) => {
                    renewed_at = Instant::now();
                    of(contact).renewed(renewed_at);
                    answers = true;
                }
                Err(error) => {
                    if answers {
                        tracing::warn!(error = %error, "lease of this node cannot be renewed, retrying");
                    }
                    answers = false;
                    of(contact).lost();
                }
            }
        }
    }

    async fn clear_again_and_again(&self, contact: &Mutex<Contact>) {
        let mut ticks = ticks();
        let (mut looks, mut erases) = (0_u32, false);
        loop {
            ticks.tick().await;
            if !of(contact).may_clear(Instant::now()) {
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
        let node = self.registry.node();
        if !self.nodes.renew(node, LEASE).await? {
            self.registry.cleared(node);
        }
        Ok(())
    }

    /// Clears, and erases some of what cleared nodes have left if so; whether there may be more of it.
    async fn clear(&self, erases: bool) -> Result<bool, StoreError> {
        let cleared = self.nodes.clear(self.registry.node(), CLEARS_HOLDING).await?;
        if cleared > 0 {
            tracing::warn!(nodes = cleared, "removed expired nodes");
        }
        Ok(cleared > 0 || (erases && self.nodes.erase_cleared(ERASED_AT_ONCE).await? > 0))
    }

    /// Ends the node in order, once none of its sockets is open: whose connections were ended counts as there for
    /// some seconds more.
    ///
    /// # Errors
    /// Those of the store; then the node is cleared when its lease is over.
    pub async fn leave(&self) -> Result<(), StoreError> {
        self.nodes.leave(self.registry.node(), GRACE).await
    }

    /// Finds out who is connected to other nodes, all of them; what changes afterwards stands in the log.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn look_around(&self) -> Result<(), StoreError> {
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
        self.hub.observe_all(&all);
        Ok(())
    }

    /// Finds out where these are connected now.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn look_for(&self, who: Vec<ParticipantId>) -> Result<(), StoreError> {
        if who.is_empty() {
            return Ok(());
        }
        let connected = self.nodes.whereabouts(who.clone()).await?;
        for who in who {
            self.hub.observe(who, &connected);
        }
        Ok(())
    }
}

fn ticks() -> Interval {
    let mut ticks = interval(CLEARED_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

fn of(contact: &Mutex<Contact>) -> MutexGuard<'_, Contact> {
    contact.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
