//! What a store keeps of nodes, in memory: for tests of servers that are several. It is held to the contract
//! of the real one ([`crate::contract::nodes`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use domain::change::{Change, ChangePosition, ChangeRepository, LoggedChange};
use domain::id::{AgentId, NodeId, ParticipantId, UserId};
use domain::node::{
    AgentClaim, Connected, Entrant, EntrantPosition, Granted, Holder, NodeRepository, PresenceChange,
    Registered, SocketNumber,
};
use domain::store::StoreError;
use domain::time::Timestamp;
use tokio::time::Instant;

#[derive(Clone, Copy)]
struct Node {
    lease_until: Instant,
    is_ended: bool,
}

#[derive(Clone, Copy)]
struct Place {
    node: NodeId,
    number: i64,
    is_open: bool,
}

#[derive(Default)]
struct Rows {
    nodes: HashMap<NodeId, Node>,
    agents: BTreeMap<AgentId, Place>,
    users: BTreeSet<(UserId, NodeId)>,
    log: Vec<Change>,
    /// The position up to which its entries are deleted.
    forgotten: i64,
    entrants: Vec<Entrant>,
}

/// The nodes on a store that is not there.
#[derive(Default)]
pub struct MemoryNodes {
    rows: Mutex<Rows>,
    is_away: AtomicBool,
}

impl MemoryNodes {
    /// From now on it answers nobody, or everybody again.
    pub fn be_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::SeqCst);
    }

    /// Lets a node's lease be over.
    pub fn end_lease(&self, node: NodeId) {
        let mut rows = self.lock();
        rows.nodes.get_mut(&node).unwrap().lease_until = Instant::now();
    }

    /// Somebody has come into a room.
    pub fn enter_room(&self, entrant: Entrant) {
        let mut rows = self.lock();
        rows.entrants.push(entrant);
        rows.entrants.sort_by_key(Entrant::position);
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rows(&self) -> Result<MutexGuard<'_, Rows>, StoreError> {
        if self.is_away.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("away".into()));
        }
        Ok(self.lock())
    }
}

impl Rows {
    fn is_known(&self, node: NodeId) -> bool {
        self.nodes.get(&node).is_some_and(|known| !known.is_ended)
    }

    fn append(&mut self, change: Change) -> i64 {
        self.log.push(change);
        i64::try_from(self.log.len()).unwrap()
    }

    fn record(&mut self, at: NodeId, change: PresenceChange) {
        match change {
            PresenceChange::UserConnected(user) => {
                if self.users.insert((user, at)) {
                    self.append(Change::ConnectionsChanged(ParticipantId::User(user)));
                }
            }
            PresenceChange::UserDisconnected(user) => {
                if self.users.remove(&(user, at)) {
                    self.append(Change::ConnectionsChanged(ParticipantId::User(user)));
                }
            }
            PresenceChange::AgentLost(agent) => {
                if let Some(place) = self.agents.get_mut(&agent).filter(|place| place.node == at) {
                    place.is_open = false;
                }
            }
            PresenceChange::AgentDisconnected(agent) => {
                if self.agents.get(&agent).is_some_and(|place| place.node == at) {
                    self.agents.remove(&agent);
                    self.append(Change::ConnectionsChanged(ParticipantId::Agent(agent)));
                }
            }
        }
    }

    fn claim(&mut self, node: NodeId, claim: AgentClaim) -> Granted {
        let holder = self.agents.get(&claim.agent).copied();
        let holder = holder
            .filter(|place| self.is_known(place.node))
            .map(|place| Holder { node: place.node, is_open: place.is_open });
        claim.claiming.is_granted(node, holder).then(|| {
            let number = self.append(Change::ConnectionsChanged(ParticipantId::Agent(claim.agent)));
            self.agents.insert(claim.agent, Place { node, number, is_open: true });
            SocketNumber(number)
        })
    }

    fn all(&self) -> impl Iterator<Item = Connected> {
        let agents = self.agents.iter().map(|(agent, place)| Connected {
            who: ParticipantId::Agent(*agent),
            node: place.node,
            number: Some(SocketNumber(place.number)),
        });
        let users = self.users.iter().map(|(user, node)| Connected {
            who: ParticipantId::User(*user),
            node: *node,
            number: None,
        });
        agents.chain(users).filter(|one| self.is_known(one.node))
    }
}

#[async_trait]
impl NodeRepository for MemoryNodes {
    async fn enter(&self, node: NodeId, lease: Duration) -> Result<(), StoreError> {
        let lease_until = Instant::now() + lease;
        self.rows()?.nodes.insert(node, Node { lease_until, is_ended: false });
        Ok(())
    }

    async fn renew(&self, node: NodeId, lease: Duration) -> Result<bool, StoreError> {
        let mut rows = self.rows()?;
        let known = rows.nodes.get_mut(&node).filter(|known| !known.is_ended);
        Ok(known.map(|known| known.lease_until = Instant::now() + lease).is_some())
    }

    async fn leave(&self, node: NodeId, grace: Duration) -> Result<(), StoreError> {
        self.renew(node, grace).await?;
        let mut rows = self.rows()?;
        for place in rows.agents.values_mut().filter(|place| place.node == node) {
            place.is_open = false;
        }
        Ok(())
    }

    async fn clear(&self, by: NodeId, holding: Duration) -> Result<u32, StoreError> {
        let mut rows = self.rows()?;
        let now = Instant::now();
        if !rows.nodes.get(&by).is_some_and(|own| !own.is_ended && own.lease_until > now + holding) {
            return Ok(0);
        }
        let over = |(_, known): &(&NodeId, &mut Node)| !known.is_ended && known.lease_until <= now;
        let mut cleared = Vec::new();
        for (node, known) in rows.nodes.iter_mut().filter(over) {
            known.is_ended = true;
            cleared.push(*node);
        }
        for node in &cleared {
            rows.append(Change::NodeCleared(*node));
        }
        Ok(u32::try_from(cleared.len()).unwrap())
    }

    async fn erase_cleared(&self, limit: u32) -> Result<u32, StoreError> {
        let mut rows = self.rows()?;
        let limit = usize::try_from(limit).unwrap();
        let gone = |rows: &Rows, node: &NodeId| rows.nodes.get(node).is_some_and(|known| known.is_ended);
        let agents = rows.agents.iter().filter(|(_, place)| gone(&rows, &place.node));
        let agents = agents.map(|(agent, _)| *agent).take(limit).collect::<Vec<_>>();
        let users = rows.users.iter().filter(|(_, node)| gone(&rows, node));
        let users = users.copied().take(limit).collect::<Vec<_>>();
        let mut erased = agents.len() + users.len();
        rows.agents.retain(|agent, _| !agents.contains(agent));
        rows.users.retain(|user| !users.contains(user));
        if erased == 0 {
            let before = rows.nodes.len();
            rows.nodes.retain(|_, known| !known.is_ended);
            erased = before - rows.nodes.len();
        }
        Ok(u32::try_from(erased).unwrap())
    }

    async fn register(
        &self,
        node: NodeId,
        changes: Vec<PresenceChange>,
        claims: Vec<AgentClaim>,
    ) -> Result<Registered, StoreError> {
        let mut rows = self.rows()?;
        if !rows.is_known(node) {
            return Ok(Registered::Cleared);
        }
        for change in changes {
            rows.record(node, change);
        }
        Ok(Registered::Done(claims.into_iter().map(|claim| rows.claim(node, claim)).collect()))
    }

    async fn whereabouts(&self, of: Vec<ParticipantId>) -> Result<Vec<Connected>, StoreError> {
        Ok(self.rows()?.all().filter(|one| of.contains(&one.who)).collect())
    }

    async fn connected_agents(
        &self,
        after: Option<AgentId>,
        limit: u32,
    ) -> Result<Vec<Connected>, StoreError> {
        let is_behind = |one: &Connected| one.who.agent().is_some_and(|agent| Some(agent) > after);
        Ok(self.rows()?.all().filter(is_behind).take(usize::try_from(limit).unwrap()).collect())
    }

    async fn connected_users(
        &self,
        after: Option<(UserId, NodeId)>,
        limit: u32,
    ) -> Result<Vec<Connected>, StoreError> {
        let is_behind = |one: &Connected| one.who.user().is_some_and(|user| Some((user, one.node)) > after);
        Ok(self.rows()?.all().filter(is_behind).take(usize::try_from(limit).unwrap()).collect())
    }

    async fn record_event_loss(&self, by: NodeId, since: Timestamp) -> Result<(), StoreError> {
        self.rows()?.append(Change::EventsLost { by, since });
        Ok(())
    }

    async fn entrants(&self, after: EntrantPosition, limit: u32) -> Result<Vec<Entrant>, StoreError> {
        let rows = self.rows()?;
        let behind = rows.entrants.iter().filter(|entrant| entrant.position() > after);
        Ok(behind.take(usize::try_from(limit).unwrap()).cloned().collect())
    }
}

#[async_trait]
impl ChangeRepository for MemoryNodes {
    async fn newest_change(&self) -> Result<ChangePosition, StoreError> {
        Ok(ChangePosition(i64::try_from(self.rows()?.log.len()).unwrap()))
    }

    async fn changes_after(
        &self,
        position: ChangePosition,
        limit: u32,
    ) -> Result<Vec<LoggedChange>, StoreError> {
        let rows = self.rows()?;
        let places = (1..).map(ChangePosition).zip(rows.log.iter().copied().map(Some));
        let entries = places.map(|(position, change)| LoggedChange { position, change });
        let position = position.max(ChangePosition(rows.forgotten));
        let behind = entries.filter(|entry| entry.position > position);
        Ok(behind.take(usize::try_from(limit).unwrap()).collect())
    }

    async fn has_change(&self, position: ChangePosition) -> Result<bool, StoreError> {
        let rows = self.rows()?;
        Ok(position.0 > rows.forgotten && position.0 <= i64::try_from(rows.log.len()).unwrap())
    }

    async fn forget_changes(&self, before: ChangePosition, limit: u32) -> Result<u32, StoreError> {
        let mut rows = self.rows()?;
        let last = (before.0 - 1).min(rows.forgotten + i64::from(limit));
        let gone = u32::try_from((last - rows.forgotten).max(0)).unwrap();
        rows.forgotten += i64::from(gone);
        Ok(gone)
    }
}
